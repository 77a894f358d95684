-- Purpose: make a user, with the audit line (design 7). Repeatable by its operation id.
-- Parameters: name, names of roles, tenants and effects within reach (null: all), argon2's encoded hash (null: no password);
--   id of the operation, who does it.
-- Returns one row: done | exists | no_such_role; the first role that there is not. Indexes: the keys of users and roles,
--   audit_log_operation_uq.
create function add_user_v1(
  user_name text, user_roles text[], user_tenants text[], user_effects text[], user_hash text, operation text, who text)
returns table (outcome text, missing text) language plpgsql as $$
declare
  unknown text := (select min(n) from unnest(user_roles) as n where not exists (select from roles as r where r.name = n));
begin
  if unknown is not null then
    return query select 'no_such_role', unknown;
    return;
  end if;
  insert into users (name, roles, tenants, effects, password_hash)
  values (user_name, user_roles, user_tenants, user_effects, user_hash)
  on conflict (name) do nothing;
  if not found then
    return query select
      case when exists (select from audit_log as a where a.operation_id = operation) then 'done' else 'exists' end, null::text;
    return;
  end if;
  insert into audit_log (actor, action, operation_id, detail)
  values (who, 'user_added', operation, convert_to(json_build_object('user', user_name, 'roles', user_roles,
    'tenants', user_tenants, 'effects', user_effects, 'hasPassword', user_hash is not null)::text, 'UTF8'));
  return query select 'done', null::text;
end $$;
