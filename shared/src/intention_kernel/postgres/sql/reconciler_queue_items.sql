-- Purpose: the items of one receipt, oldest first.
-- Parameters: $1 thread, $2 key. Returns: items. Index: reconciliation_items' key.
select settlement, kind, phase, reason, opened_at, closed_at, looks, issue, turn_id,
       case when isfinite(next_look_at) then next_look_at end as next_look_at
from reconciliation_items
where thread_id = $1 and effect_key = $2
order by settlement, kind
