-- Purpose: an audit line of a sign-in that was refused. A name that is nobody's is not kept: people type passwords there. Repeatable
--   by its operation id.
-- Parameters: $1 the name that was given, $2 id of the operation, $3 detail. Returns: nothing. Indexes: the key of users,
--   audit_log_operation_uq.
insert into audit_log (actor, action, operation_id, detail)
values (coalesce((select name from users where name = $1), '(unknown)'), 'denied', $2, $3)
on conflict (operation_id) where operation_id is not null do nothing
