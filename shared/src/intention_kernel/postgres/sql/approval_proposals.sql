-- Purpose: the proposals that are open, the next to expire first.
-- Parameters: $1 how many at most; $2 tenants and $3 effects whose receipts are within reach (null: all). Returns: rows as approval_proposal.sql.
-- Indexes: proposals_expiry_idx, receipts' key.
select p.*, proposal_state_v1(p.state, p.expires_at, p.seen_version, r.version) as state_now, r.receipt_id, r.tenant_id,
       r.effect_id, r.title, r.provider, r.amount, r.currency
from proposals as p
join receipts as r on r.thread_id = p.thread_id and r.effect_key = p.effect_key
where p.state = 'proposed' and p.expires_at > now() and r.version = p.seen_version
  and ($2::text[] is null or r.tenant_id = any ($2)) and ($3::text[] is null or r.effect_id = any ($3))
order by p.expires_at, p.proposal_id
limit $1
