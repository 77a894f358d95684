-- Purpose: the history of one receipt, oldest first.
-- Parameters: $1 thread, $2 key. Returns: transitions. Index: receipt_transitions' key.
select version, state, attempt, cause, at
from receipt_transitions
where thread_id = $1 and effect_key = $2
order by version
