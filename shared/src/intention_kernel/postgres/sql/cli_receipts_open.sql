-- Purpose: receipts in a state that is not settled, by thread and key. Parameters: $1 prepared or uncertain, $2 how many at most.
-- Returns: a row each, as cli_receipts.sql. Index: receipts_open_idx, whose size does not grow with settled receipts.
select receipt_id, thread_id, effect_key, effect_id, turn_id, agent_id, tenant_id, state, attempt, version, settlements,
       contradicted, title, provider, amount, currency, reference, prepared_at, cause
from receipts where (state in ('prepared', 'uncertain') or contradicted) and state = $1 order by thread_id, effect_key limit $2
