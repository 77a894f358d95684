-- Purpose: what became of receipts, for a history.
-- Parameters: none. Returns one row a move. Indexes: none; it is asked of installations of a test or a demo.
select thread_id, effect_key, version, from_state, state, attempt, settlements, contradicted, cause
from receipt_transitions order by thread_id, effect_key, version
