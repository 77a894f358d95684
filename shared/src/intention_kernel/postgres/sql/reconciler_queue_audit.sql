-- Purpose: the audit lines of one receipt, newest first.
-- Parameters: $1 receipt id, $2 actor, $3 action, $4 the line before which to begin (null: any), $5 how many at most.
-- Returns: lines. Indexes: receipts_receipt_id_uq, audit_log_receipt_idx.
select a.id, a.at, a.actor, a.action, a.thread_id, a.effect_key, a.detail
from receipts as r
join audit_log as a on a.thread_id = r.thread_id and a.effect_key = r.effect_key
where r.receipt_id = $1 and ($2::text is null or a.actor = $2) and ($3::text is null or a.action = $3)
  and ($4::bigint is null or a.id < $4)
order by a.id desc
limit $5
