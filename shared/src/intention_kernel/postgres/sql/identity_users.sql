-- Purpose: all users, by name.
-- Returns: rows. Index: the key of users, in its order.
select name, roles, permissions_of_v1(roles) as permissions, tenants, effects, disabled, password_hash is not null as has_password,
       created_at
from users
order by name
