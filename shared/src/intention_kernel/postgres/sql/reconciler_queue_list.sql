-- Purpose: the operator queue: contradicted receipts on top (design 4), then the oldest first.
-- Parameters: $1 phases text[], $2 how many at most.
-- Returns: items with what people need to know of their receipts.
-- Index: reconciliation_items_unfinished_idx where only open and decided ones are asked for.
select r.receipt_id, i.thread_id, i.effect_key, r.effect_id, i.kind, i.phase, i.settlement, i.reason, i.opened_at, i.looks,
       case when isfinite(i.next_look_at) then i.next_look_at end as next_look_at, i.turn_id as waits_for,
       r.turn_id, r.state, r.contradicted, r.version, r.title, r.provider, r.amount, r.currency,
       clock_timestamp() as now
from reconciliation_items as i
join receipts as r on r.thread_id = i.thread_id and r.effect_key = i.effect_key
where i.phase = any ($1::text[])
order by (r.contradicted and i.phase = 'open') desc, i.opened_at, i.thread_id, i.effect_key
limit $2
