-- Purpose: receipts by thread and key. Parameters: $1 state or null for all, $2 how many at most.
-- Returns: a row each, without payload and value. Index: receipts' key, walked until there are enough.
select receipt_id, thread_id, effect_key, effect_id, turn_id, agent_id, tenant_id, state, attempt, version, settlements,
       contradicted, title, provider, amount, currency, reference, prepared_at, cause
from receipts where $1::text is null or state = $1 order by thread_id, effect_key limit $2
