-- Purpose: who waits in a thread, and for which receipt, oldest first. Parameters: $1 thread. Returns: a row each.
-- Indexes: the keys of blocked_steps, by thread (few wait), and of receipts.
select b.turn_id, b.revision, b.effect_key, r.receipt_id, r.effect_id, r.state, r.title
from blocked_steps as b join receipts as r on r.thread_id = b.thread_id and r.effect_key = b.effect_key
where b.thread_id = $1 order by b.revision, b.effect_key
