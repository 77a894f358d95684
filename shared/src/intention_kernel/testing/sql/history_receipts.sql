-- Purpose: receipts, for a history.
-- Parameters: none. Returns one row each. Indexes: none; it is asked of installations of a test or a demo.
select receipt_id, thread_id, effect_key, turn_id, state, attempt, version, settlements, contradicted, value, reference
from receipts order by thread_id, effect_key
