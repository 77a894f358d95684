-- Purpose: the receipts of a thread that are not settled. Parameters: $1 thread. Returns: a row each, as cli_receipts.sql.
-- Index: receipts_open_idx.
select receipt_id, thread_id, effect_key, effect_id, turn_id, agent_id, tenant_id, state, attempt, version, settlements,
       contradicted, title, provider, amount, currency, reference, prepared_at, cause
from receipts where thread_id = $1 and (state in ('prepared', 'uncertain') or contradicted) order by thread_id, effect_key
