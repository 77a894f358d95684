-- Purpose: the audit lines of one receipt, newest first.
-- Parameters: $1 receipt id, $2 actor, $3 action, $4 the line before which to begin (null: any), $5 how many at most.
-- Returns: lines. Indexes: receipts_receipt_id_uq, audit_log_receipt_idx.
select id, at, actor, action, thread_id, effect_key, detail
from audit_log
where thread_id = (select thread_id from receipts where receipt_id = $1)
  and effect_key = (select effect_key from receipts where receipt_id = $1)
  and id < coalesce($4::bigint, 9223372036854775807) and ($2::text is null or actor = $2) and ($3::text is null or action = $3)
order by id desc
limit $5
