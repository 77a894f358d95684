-- Purpose: a user, with the hash that a sign-in compares with.
-- Parameters: $1 name. Returns: at most one row. Index: the key of users.
select name, roles, permissions_of_v1(roles) as permissions, tenants, effects, disabled, password_hash is not null as has_password,
       created_at, password_hash
from users
where name = $1
