-- Purpose: the last proposal of a receipt.
-- Parameters: $1 receipt id. Returns: no or one row, as approval_proposal.sql.
-- Indexes: receipts_receipt_id_uq, proposals_receipt_idx.
select p.*, proposal_state_v1(p.state, p.expires_at, p.seen_version, r.version) as state_now, r.receipt_id, r.tenant_id,
       r.effect_id, r.title, r.provider, r.amount, r.currency
from receipts as r
join proposals as p on p.thread_id = r.thread_id and p.effect_key = r.effect_key
where r.receipt_id = $1
order by p.id desc
limit 1
