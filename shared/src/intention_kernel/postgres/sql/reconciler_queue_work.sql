-- Purpose: who works on one receipt, and until when it is out of sight.
-- Parameters: $1 thread, $2 key. Returns: no row where nobody ever worked on it. Index: receipt_work's key.
select version, claimed_by,
       case when isfinite(claimed_until) then claimed_until end as claimed_until,
       case when isfinite(snoozed_until) then snoozed_until end as snoozed_until,
       snoozed_answer is not null and snoozed_until > now() as snoozed_until_change
from receipt_work
where thread_id = $1 and effect_key = $2
