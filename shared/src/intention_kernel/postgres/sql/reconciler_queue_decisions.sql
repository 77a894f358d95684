-- Purpose: what was decided about one receipt, oldest first.
-- Parameters: $1 thread, $2 key. Returns: decisions. Index: decisions_receipt_idx.
select decision_id, settlement, resolution, reference, reason_code, reason, evidence, actor, at
from decisions
where thread_id = $1 and effect_key = $2
order by at
