-- Purpose: one receipt with payload, host context and value. Parameters: $1 receipt id. Returns: no or one row.
-- Index: receipts_receipt_id_uq.
select receipt_id, thread_id, effect_key, effect_id, turn_id, agent_id, tenant_id, state, attempt, version, settlements,
       contradicted, title, provider, amount, currency, reference, prepared_at, cause,
       payload, host_context, value, first_prepared_at, call_deadline, returned_at
from receipts where receipt_id = $1
