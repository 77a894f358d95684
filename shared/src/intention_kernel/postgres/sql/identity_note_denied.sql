-- Purpose: an audit line of what was refused. Repeatable by its operation id.
-- Parameters: $1 who asked, $2 id of the operation, $3 detail. Returns: nothing. Index: audit_log_operation_uq.
insert into audit_log (actor, action, operation_id, detail)
values ($1, 'denied', $2, $3)
on conflict (operation_id) where operation_id is not null do nothing
