-- Purpose: a recovery is done: runners may run (protocol R39). Parameters: $1 who recovers, $2 what was done, for the audit log.
-- Returns: nothing. One row, read whole.
with finished as (update installation set recovering = false where recovering returning true)
insert into audit_log (actor, action, detail) select $1::text, 'recover.finish', $2::bytea from finished
