-- Purpose: records that were refused, for a history.
-- Parameters: none. Returns one row each. Indexes: none; it is asked of installations of a test or a demo.
select origin_partition, origin_offset, thread_id, turn_id, revision, state, reason, record_key, record_value
from rejected_requests order by origin_partition, origin_offset
