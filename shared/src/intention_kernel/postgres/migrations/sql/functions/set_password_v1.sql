-- Purpose: give a user another password and end their sessions, with the audit line (design 7). Repeatable by its operation id.
-- Parameters: name, argon2's encoded hash; id of the operation, who does it.
-- Returns: done | no_such_user. Waits for the user's lock, which whoever opens a session shares, so that none opens on the old
--   password. Indexes: the key of users, audit_log_operation_uq, sessions_user_idx.
create function set_password_v1(of_user text, new_hash text, operation text, who text) returns text language plpgsql as $$
begin
  perform from users as u where u.name = of_user for no key update;
  if not found then
    return 'no_such_user';
  end if;
  if exists (select from audit_log as a where a.operation_id = operation) then
    return 'done';
  end if;
  update users as u set password_hash = new_hash where u.name = of_user;
  delete from sessions as s where s.user_name = of_user;
  insert into audit_log (actor, action, operation_id, detail)
  values (who, 'password_set', operation, convert_to(json_build_object('user', of_user)::text, 'UTF8'));
  return 'done';
end $$;
