-- Purpose: one proposal, with what it is about.
-- Parameters: $1 proposal id. Returns: no or one row, as all that read proposals; state_now is judged now.
-- Indexes: the keys of proposals and receipts.
select p.*, proposal_state_v1(p.state, p.expires_at, p.seen_version, r.version) as state_now, r.receipt_id, r.tenant_id,
       r.effect_id, r.title, r.provider, r.amount, r.currency
from proposals as p
join receipts as r on r.thread_id = p.thread_id and r.effect_key = p.effect_key
where p.proposal_id = $1
