-- Purpose: whose token this is, unless it is revoked, over, or its user disabled. Its use is noted where the last note is older
--   than a minute, by one of those who come at once; nobody waits for that.
-- Parameters: $1 SHA-256 of the secret. Returns: at most one row. Indexes: tokens_secret_hash_uq; the keys of tokens, users, roles.
with found as (
  select t.*, u.roles, u.tenants, u.effects, u.disabled, u.password_hash is not null as has_password, u.created_at as user_created_at
  from tokens as t
  join users as u on u.name = t.user_name
  where t.secret_hash = $1 and t.revoked_at is null and t.expires_at > clock_timestamp() and not u.disabled),
noted as (
  update tokens as t set last_used_at = clock_timestamp()
  where t.token_id in (
    select n.token_id from tokens as n join found as f on f.token_id = n.token_id
    where coalesce(n.last_used_at, '-infinity') <= clock_timestamp() - interval '1 minute'
    for no key update of n skip locked))
select f.token_id, f.user_name, f.label, f.prefix, f.permissions, f.created_at, f.expires_at, f.revoked_at, f.last_used_at,
       f.roles, permissions_of_v1(f.roles) as user_permissions, f.tenants, f.effects, f.disabled, f.has_password, f.user_created_at
from found as f
