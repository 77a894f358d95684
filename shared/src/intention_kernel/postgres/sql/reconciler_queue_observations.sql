-- Purpose: what resolvers and late answers saw of one receipt, oldest first.
-- Parameters: $1 thread, $2 key. Returns: observations. Index: observations' key.
select settlement, receipt_version, source, finding, detail, value, reference, started_at, at
from observations
where thread_id = $1 and effect_key = $2
order by id
