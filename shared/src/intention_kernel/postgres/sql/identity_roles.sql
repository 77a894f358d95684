-- Purpose: all roles, by name.
-- Returns: rows. Index: the key of roles, in its order.
select name, permissions from roles order by name
