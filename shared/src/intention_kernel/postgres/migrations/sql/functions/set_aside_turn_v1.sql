-- Purpose: give a turn up by a fenced commit (protocol R5, R32): the row with the request, the event, and an orphaned item
--   for every receipt that the turn's journal claims. The journal stays for a redrive, with the mark of a recovery (R39).
-- Parameters: thread, turn, digest, fence, revision, next sequence, reason, detail, attempts; the record's topic, partition,
--   offset, key, value, headers, timestamp; the block of events and their count.
-- Returns one row: committed (also: mine already) | replayed | fenced | resequence; the revision; the sequence to number
--   from; the stored result where replayed. Waits for locks. Indexes: the keys of the tables named.
create function set_aside_turn_v1(
  thread text, turn text, request_digest bytea, fence_number bigint, seen_revision bigint, sequence bigint, why text,
  detail bytea, attempt_count integer, topic text, partition integer, record_offset bigint, record_key bytea,
  record_value bytea, record_headers bytea, record_time bigint, event_block bytea, event_count integer)
returns table (outcome text, revision bigint, next_sequence bigint, result bytea) language plpgsql as $$
#variable_conflict use_column
declare
  head threads;
  done turns;
  known bigint;
begin
  select t.* into head from threads as t where t.thread_id = thread for no key update;
  select u.* into done from turns as u where u.thread_id = thread and u.turn_id = turn;
  select s.revision into known from set_aside_turns as s
  where s.thread_id = thread and s.turn_id = turn and s.fence = fence_number;
  if known is not null then
    return query select 'committed', known, null::bigint, null::bytea;
  elsif done.turn_id is not null then
    return query select 'replayed', done.revision, null::bigint, done.result;
  elsif head.lease_nonce is null or head.fence <> fence_number or head.revision <> seen_revision then
    return query select 'fenced', null::bigint, null::bigint, null::bytea;
  elsif head.next_sequence <> sequence then
    return query select 'resequence', null::bigint, head.next_sequence, null::bytea;
  else
    perform move_head_v1(thread, event_count);
    insert into set_aside_turns (thread_id, turn_id, revision, reason, detail, attempts, digest, fence, base_digest,
      origin_topic, origin_partition, origin_offset, record_key, record_value, record_headers, record_timestamp_ms)
    values (thread, turn, head.revision + 1, why, detail, attempt_count, request_digest, fence_number, sha256(head.checkpoint),
            topic, partition, record_offset, record_key, record_value, record_headers, record_time);
    perform mark_restored_v1(thread, turn, topic, partition, record_offset, record_time);
    insert into reconciliation_items (thread_id, effect_key, settlement, kind, reason, turn_id)
    select r.thread_id, r.effect_key, r.settlements + 1, 'orphaned', 'set_aside', turn
    from (
      select j.effect_key from turn_journal as j
      where j.thread_id = thread and j.turn_id = turn and j.kind = 'claim' order by j.effect_key
    ) as c cross join lateral (
      select o.thread_id, o.effect_key, o.settlements from receipts as o
      where o.thread_id = thread and o.effect_key = c.effect_key for no key update
    ) as r
    -- A turn that was redriven may be set aside again: what it holds has no owner again.
    on conflict (thread_id, effect_key, settlement, kind) do update
      set phase = 'open', closed_at = null, reason = 'set_aside', turn_id = excluded.turn_id;
    insert into outbox (shard, thread_id, topic, dedupe, first_sequence, record_count, records)
    select shard_of_v1(thread, i.shard_count), thread, 'turns.events', sequence::text, sequence, event_count, event_block
    from installation as i where event_count > 0;
    return query select 'committed', head.revision + 1, null::bigint, null::bytea;
  end if;
end $$;
