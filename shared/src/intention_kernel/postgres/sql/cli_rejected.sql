-- Purpose: what was rejected or set aside, newest first. Parameters: $1 how many at most.
-- Returns: a row each; kind rejected | set_aside, and what its id is made of. Index: rejected_requests_at_idx; set-aside
--   turns are few, and sorted.
select * from (
  (select 'rejected' as kind, origin_topic, origin_partition, origin_offset, encode(digest, 'hex') as digest, thread_id,
          turn_id, null::bigint as revision, state, reason, detail, at
   from rejected_requests order by at desc limit $1)
  union all
  (select 'set_aside', origin_topic, origin_partition, origin_offset, encode(digest, 'hex'), thread_id, turn_id, revision,
          state, reason, detail, at
   from set_aside_turns order by at desc limit $1)
) as both_kinds order by at desc limit $1
