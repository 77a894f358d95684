-- Purpose: record that somebody is shown a receipt's real values (design 7).
-- Parameters: $1 receipt id, $2 who, $3 why, $4 tenants and $5 effects within reach (null: all).
-- Returns: a row, or none where there is no such receipt within reach. Index: receipts_receipt_id_uq.
insert into audit_log (actor, action, thread_id, effect_key, detail)
select $2, 'revealed', r.thread_id, r.effect_key,
       convert_to(json_build_object('receiptId', r.receipt_id, 'version', r.version, 'reason', $3::text)::text, 'UTF8')
from receipts as r
where r.receipt_id = $1 and ($4::text[] is null or r.tenant_id = any($4)) and ($5::text[] is null or r.effect_id = any($5))
returning id
