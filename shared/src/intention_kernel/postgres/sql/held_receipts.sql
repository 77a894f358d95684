-- Purpose: the receipts that the journal of an unfinished turn claims (protocol R32).
-- Parameters: $1 thread, $2 turn. Returns: one row a receipt, by key. Indexes: the keys of turn_journal and receipts.
select distinct r.receipt_id, r.effect_key, r.state
from turn_journal as j
join receipts as r on r.thread_id = j.thread_id and r.effect_key = j.effect_key
where j.thread_id = $1::text and j.turn_id = $2::text and j.kind = 'claim'
order by r.effect_key
