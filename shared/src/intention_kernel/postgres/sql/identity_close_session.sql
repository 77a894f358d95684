-- Purpose: end a session, with the audit line where there was one.
-- Parameters: $1 SHA-256 of the secret. Returns: nothing. Index: the key of sessions.
with closed as (delete from sessions where secret_hash = $1 returning user_name)
insert into audit_log (actor, action, detail)
select user_name, 'sign_out', '{}'::bytea from closed
