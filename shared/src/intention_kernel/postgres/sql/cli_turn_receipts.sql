-- Purpose: the receipts that a turn prepared first. Parameters: $1 thread, $2 turn. Returns: a row each, as cli_receipts.sql.
-- Index: receipts' key, by thread: there is none by turn, so that nothing grows with settled receipts (protocol 9).
select receipt_id, thread_id, effect_key, effect_id, turn_id, agent_id, tenant_id, state, attempt, version, settlements,
       contradicted, title, provider, amount, currency, reference, prepared_at, cause
from receipts where thread_id = $1 and turn_id = $2 order by thread_id, effect_key
