-- Purpose: begin to recover from an older database (protocol R39), all at once: another incarnation, no lease, and what a lost
--   database may have done is marked: records before an offset, turns that wait, receipts that are open.
-- Parameters: the request topic; its partitions and, side by side, the offset before which a record may have run; the new
--   incarnation; who recovers; what is found, for the audit log.
-- Returns: false, and changes nothing, where an earlier recovery is not finished: it goes on. Reads whole tables: it runs once.
create function begin_recovery_v1(
  request_topic text, partitions integer[], untils bigint[], new_incarnation text, who text, facts bytea)
returns boolean language plpgsql as $$
declare
  already boolean;
  number integer;
begin
  select i.recovering into already from installation as i where i.only_row for update;
  if already then
    return false;
  end if;
  update installation as i set incarnation = new_incarnation, recoveries = i.recoveries + 1, recovering = true
  returning i.recoveries into number;
  insert into partition_progress as p (topic, partition, restore_until)
  select request_topic, w.partition, w.until from unnest(partitions, untils) as w (partition, until) order by w.partition
  on conflict (topic, partition) do update set restore_until = greatest(p.restore_until, excluded.restore_until);
  update threads as t set lease_nonce = null, lease_until = '-infinity' where t.lease_nonce is not null;
  -- What closes an open receipt from now on is known after this recovery. A call of the lost database may be on its way for as
  -- long as a call may take from now (R22), and what was seen before is no ground for a settlement (R23).
  update receipts as r set recovery = number, version = r.version + 1, cause = 'recover',
    call_deadline = greatest(r.call_deadline, clock_timestamp() + (r.call_deadline - r.prepared_at))
  where r.state in ('prepared', 'uncertain') or r.contradicted;
  -- Whoever waits may have gone on there: what it does next is a request of its own, beyond those offsets. The mark is a claim
  -- without a key, which a redrive keeps; one zero byte is the packed form of no bytes.
  insert into turn_journal (thread_id, turn_id, entry, kind, request_digest, body, requested_at_ms)
  select w.thread_id, w.turn_id, 'restored', 'claim', '', '\x00'::bytea, max(w.asked_ms) from (
    select b.thread_id, b.turn_id, t.requested_at_ms as asked_ms
    from blocked_steps as b join turns as t on t.thread_id = b.thread_id and t.turn_id = b.turn_id
    union all
    select s.thread_id, s.turn_id, s.record_timestamp_ms from set_aside_turns as s where s.state <> 'dropped'
    union all
    select q.thread_id, q.turn_id, q.record_timestamp_ms from rejected_requests as q
    where q.state <> 'dropped' and q.turn_id is not null and q.thread_id is not null
  ) as w
  where not exists (select from turns as t where t.thread_id = w.thread_id and t.turn_id = w.turn_id)
     or exists (select from blocked_steps as b where b.thread_id = w.thread_id and b.turn_id = w.turn_id)
  group by w.thread_id, w.turn_id
  on conflict (thread_id, turn_id, entry) do nothing;
  insert into audit_log (actor, action, detail) values (who, 'recover.begin', facts);
  return true;
end $$;
