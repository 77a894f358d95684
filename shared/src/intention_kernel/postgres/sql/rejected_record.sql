-- Purpose: state, key and value of one rejected record, to send it again. Parameters: $1 topic, $2 partition, $3 offset, $4 digest.
-- Returns: no or one row. Index: rejected_requests' key.
select state, record_key, record_value
from rejected_requests where origin_topic = $1 and origin_partition = $2 and origin_offset = $3 and digest = $4
