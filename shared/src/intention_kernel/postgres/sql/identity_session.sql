-- Purpose: whose session this is, unless it is over or its user disabled. What the user may is read at every request.
-- Parameters: $1 SHA-256 of the secret. Returns: at most one row. Indexes: the keys of sessions, users and roles.
select u.name, u.roles, permissions_of_v1(u.roles) as permissions, u.tenants, u.effects, u.disabled,
       u.password_hash is not null as has_password, u.created_at, s.created_at as opened_at, s.expires_at
from sessions as s
join users as u on u.name = s.user_name
where s.secret_hash = $1 and s.expires_at > clock_timestamp() and not u.disabled
