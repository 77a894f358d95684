-- Purpose: record a person's statement that the workers are stopped, for this receipt's present attempt (protocol R22 c).
-- Parameters: $1 thread, $2 key, $3 who says so, $4 detail.
-- Returns: nothing. Index: none is needed.
insert into audit_log (actor, action, thread_id, effect_key, detail)
values ($3, 'workers_stopped', $1, $2, $4)
