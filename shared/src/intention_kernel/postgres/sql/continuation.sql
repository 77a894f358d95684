-- Purpose: what a continuation resumes (protocol R28, R30): the settled receipt and the oldest turn that waits for it.
-- Parameters: $1 thread, $2 receipt id, $3 settlement number.
-- Returns: one row; none where the receipt has no such settlement. The request is null where nothing waits.
-- Indexes: receipts_receipt_id_uq, the keys of blocked_steps and turns.
select r.effect_key, r.receipt_id, r.state, r.attempt, w.turn_id, u.request, u.requested_at_ms
from receipts as r
left join lateral (
  select b.turn_id from blocked_steps as b
  where b.thread_id = r.thread_id and b.effect_key = r.effect_key
  order by b.revision, b.turn_id limit 1
) as w on true
left join lateral (  -- by the whole key, whatever the tables held when this was planned
  select o.request, o.requested_at_ms from turns as o where o.thread_id = r.thread_id and o.turn_id = w.turn_id offset 0
) as u on true
where r.thread_id = $1::text and r.receipt_id = $2::text and $3::integer between 1 and r.settlements
