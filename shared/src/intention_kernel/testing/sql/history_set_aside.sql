-- Purpose: turns that were given up, for a history.
-- Parameters: none. Returns one row each. Indexes: none; it is asked of installations of a test or a demo.
select thread_id, turn_id, revision, state, reason, origin_partition, origin_offset
from set_aside_turns order by thread_id, revision
