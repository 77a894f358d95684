-- Purpose: a receipt's history, oldest first. Parameters: $1 thread, $2 effect key. Returns: a row each.
-- Index: receipt_transitions' key.
select version, from_state, state, attempt, contradicted, settlements, cause, at
from receipt_transitions where thread_id = $1 and effect_key = $2 order by version
