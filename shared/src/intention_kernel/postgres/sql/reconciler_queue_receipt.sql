-- Purpose: one receipt with what is known of its attempts, as reconciler_claim.sql returns it.
-- Parameters: $1 receipt id.
-- Returns: no or one row; stopped_at is when a person first said that the workers are stopped, of this attempt: where a repeat of
--   its call was never seen to end, since the last of them began.
-- Index: receipts_receipt_id_uq; processes' key; receipt_transitions' key; audit_log is read for this receipt only where it was ever said.
select r.*, r.settlements + 1 as settlement, 0 as looks, clock_timestamp() as looked_at,
       case when p.boot = r.boot then p.stopped_at when p.started_at >= r.prepared_at then p.started_at end as died_at,
       (select min(a.at) from audit_log as a
        where a.action = 'workers_stopped' and a.thread_id = r.thread_id and a.effect_key = r.effect_key
          and a.at >= r.prepared_at
          and (r.retry_until = '-infinity' or a.at >= coalesce((
            select max(t.at) from receipt_transitions as t
            where t.thread_id = r.thread_id and t.effect_key = r.effect_key and t.cause = 'retry'), r.prepared_at))) as stopped_at
from receipts as r
left join processes as p on p.instance = r.instance
where r.receipt_id = $1
