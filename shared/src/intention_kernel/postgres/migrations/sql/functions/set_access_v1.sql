-- Purpose: give a user other roles and another reach, with the audit line (design 7). Sessions and tokens read them at every
--   request. Repeatable by its operation id.
-- Parameters: name, names of roles, tenants and effects within reach (null: all); id of the operation, who does it.
-- Returns one row: done | no_such_user | no_such_role; the first role that there is not. Waits for the user's lock. Indexes: the
--   keys of users and roles, audit_log_operation_uq.
create function set_access_v1(
  of_user text, new_roles text[], new_tenants text[], new_effects text[], operation text, who text)
returns table (outcome text, missing text) language plpgsql as $$
declare
  unknown text := (select min(n) from unnest(new_roles) as n where not exists (select from roles as r where r.name = n));
begin
  perform from users as u where u.name = of_user for no key update;
  if not found then
    return query select 'no_such_user', null::text;
    return;
  end if;
  if unknown is not null then
    return query select 'no_such_role', unknown;
    return;
  end if;
  if not exists (select from audit_log as a where a.operation_id = operation) then
    insert into audit_log (actor, action, operation_id, detail)
    select who, 'access_set', operation, convert_to(json_build_object('user', of_user,
      'roles', new_roles, 'tenants', new_tenants, 'effects', new_effects,
      'before', json_build_object('roles', u.roles, 'tenants', u.tenants, 'effects', u.effects))::text, 'UTF8')
    from users as u where u.name = of_user;
    update users as u set roles = new_roles, tenants = new_tenants, effects = new_effects where u.name = of_user;
  end if;
  return query select 'done', null::text;
end $$;
