-- Purpose: lock a head and read what a turn starts from, with the result of an earlier run of the same turn.
-- Parameters: thread, turn. Returns: revision, next sequence, checkpoint, whether it is leased, the stored result.
-- Indexes: the keys of threads and turns.
select t.revision, t.next_sequence, t.checkpoint, t.lease_until > clock_timestamp() as is_leased, u.result
from threads as t left join turns as u on u.thread_id = t.thread_id and u.turn_id = $2
where t.thread_id = $1 for update of t
