-- Purpose: one rejected record with its bytes. Parameters: $1 topic, $2 partition, $3 offset, $4 first hex digits of the digest.
-- Returns: no row or those of that origin. Index: rejected_requests' key.
select 'rejected' as kind, origin_topic, origin_partition, origin_offset, encode(digest, 'hex') as digest, thread_id, turn_id,
       null::bigint as revision, state, reason, detail, at, record_key, record_value, record_headers, record_timestamp_ms
from rejected_requests
where origin_topic = $1 and origin_partition = $2 and origin_offset = $3 and starts_with(encode(digest, 'hex'), $4)
