-- Purpose: the receipts that the journal of an unfinished turn claims (protocol R32).
-- Parameters: $1 thread, $2 turn. Returns: one row a receipt, by key. Indexes: the keys of turn_journal and receipts.
select distinct r.receipt_id, r.effect_key, r.state
from turn_journal as j
cross join lateral (  -- by the whole key, whatever the tables held when this was planned
  select o.receipt_id, o.effect_key, o.state from receipts as o
  where o.thread_id = j.thread_id and o.effect_key = j.effect_key offset 0
) as r
where j.thread_id = $1::text and j.turn_id = $2::text and j.kind = 'claim'
order by r.effect_key
