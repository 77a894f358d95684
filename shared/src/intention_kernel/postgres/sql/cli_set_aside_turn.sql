-- Purpose: one set-aside turn with its record's bytes. Parameters: $1 thread, $2 revision, $3 whether to leave out what was set
--   aside before the thread was anybody's. Returns: no or one row. Index: set_aside_turns' key, by thread.
select 'set_aside' as kind, origin_topic, origin_partition, origin_offset, encode(digest, 'hex') as digest, thread_id, turn_id,
       revision, state, reason, detail, at, record_key, record_value, record_headers, record_timestamp_ms, attempts
from set_aside_turns where thread_id = $1 and revision = $2 and (not $3::boolean or base_digest is not null)
