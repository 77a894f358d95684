-- Purpose: reject a request that was begun, by a fenced commit without result or events (protocol R5).
-- Parameters: those of reject_request_v1; fence and revision.
--   Where an attempt that ended before its offset was stored has rejected the same record, its row and revision stand.
-- Returns one row: committed (also: mine already) | replayed | fenced; the revision; the stored result where replayed.
--   Waits for locks. Indexes: the keys of threads, turns and rejected_requests; outbox's unique key.
create function reject_begun_v1(
  thread text, turn text, why text, detail bytea, topic text, partition integer, record_offset bigint, record_digest bytea,
  record_key bytea, record_value bytea, record_headers bytea, record_time bigint, block bytea, publish_as text,
  fence_number bigint, seen_revision bigint)
returns table (outcome text, revision bigint, result bytea) language plpgsql as $$
#variable_conflict use_column
declare
  head threads;
  done turns;
  known rejected_requests;
begin
  select t.* into head from threads as t where t.thread_id = thread for no key update;
  select u.* into done from turns as u where u.thread_id = thread and u.turn_id = turn;
  select r.* into known from rejected_requests as r
  where r.origin_topic = topic and r.origin_partition = partition and r.origin_offset = record_offset
    and r.digest = record_digest;
  if known.fence = fence_number then
    return query select 'committed', known.revision, null::bytea;
  elsif done.turn_id is not null then
    return query select 'replayed', done.revision, done.result;
  elsif head.lease_nonce is null or head.fence <> fence_number or head.revision <> seen_revision then
    return query select 'fenced', null::bigint, null::bytea;
  elsif known.revision is not null then
    update threads as t set lease_nonce = null, lease_until = '-infinity', turn_id = null, turn_digest = null, attempts = 0,
      crashes = 0
    where t.thread_id = thread;
    update rejected_requests as r set fence = fence_number
    where r.origin_topic = topic and r.origin_partition = partition and r.origin_offset = record_offset
      and r.digest = record_digest;
    return query select 'committed', known.revision, null::bytea;
  else
    perform move_head_v1(thread, 0);
    perform keep_rejected_v1(thread, turn, why, detail, topic, partition, record_offset, record_digest, record_key,
                             record_value, record_headers, record_time, block, publish_as);
    update rejected_requests as r set fence = fence_number, revision = head.revision + 1
    where r.origin_topic = topic and r.origin_partition = partition and r.origin_offset = record_offset
      and r.digest = record_digest;
    return query select 'committed', head.revision + 1, null::bytea;
  end if;
end $$;
