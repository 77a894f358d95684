-- Purpose: make a token where there is its user, with the audit line. Repeatable by the token's id.
-- Parameters: $1 id, $2 user, $3 label, $4 prefix, $5 SHA-256 of the secret, $6 permissions (null: all of its user's), $7 for how
--   many seconds; $8 who does it.
-- Returns: nothing. Indexes: the keys of users and tokens.
with issued as (
  insert into tokens (token_id, user_name, label, prefix, secret_hash, permissions, expires_at)
  select $1, u.name, $3, $4, $5, $6::text[], clock_timestamp() + make_interval(secs => $7)
  from users as u
  where u.name = $2
  on conflict (token_id) do nothing
  returning *)
insert into audit_log (actor, action, detail)
select $8, 'token_issued', convert_to(json_build_object('user', user_name, 'tokenId', token_id, 'label', label, 'prefix', prefix,
  'permissions', permissions, 'expiresAt', expires_at)::text, 'UTF8')
from issued
