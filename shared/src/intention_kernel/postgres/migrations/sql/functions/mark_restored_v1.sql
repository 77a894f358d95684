-- Purpose: what is given up or refused inside of a recovery's window may have run on the database that is lost; a redrive sends
--   it again beyond the window, so the mark goes to the turn's journal (protocol R33, R39).
-- Parameters: thread, turn (either may be null: then there is no turn to mark); the record's topic, partition, offset, time.
-- Returns: nothing. Indexes: partition_progress' key; turns' key; turn_journal's key.
create function mark_restored_v1(
  thread text, turn text, of_topic text, of_partition integer, record_offset bigint, record_time bigint)
returns void language sql as $$
  insert into turn_journal (thread_id, turn_id, entry, kind, request_digest, body, requested_at_ms)
  select thread, turn, 'restored', 'claim', '', '\x00'::bytea, record_time
  from partition_progress as p
  where p.topic = of_topic and p.partition = of_partition and record_offset < p.restore_until
    and thread is not null and turn is not null
    and not exists (select from turns as t where t.thread_id = thread and t.turn_id = turn)
  on conflict (thread_id, turn_id, entry) do nothing
$$;
