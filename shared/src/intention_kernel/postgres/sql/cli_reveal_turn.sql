-- Purpose: record that somebody is shown a turn's real values, or its thread's (design 7).
-- Parameters: $1 thread, $2 turn (null: the thread's memory), $3 who, $4 why, $5 tenants within reach (null: all).
-- Returns: a row, or none where there is no such thread within reach. Index: threads' key.
insert into audit_log (actor, action, thread_id, detail)
select $3, 'revealed', t.thread_id,
       convert_to(json_strip_nulls(json_build_object('turnId', $2::text, 'revision', t.revision, 'reason', $4::text))::text, 'UTF8')
from threads as t where t.thread_id = $1 and ($5::text[] is null or t.tenant_id = any($5))
returning id
