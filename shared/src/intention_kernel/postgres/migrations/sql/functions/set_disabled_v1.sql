-- Purpose: disable a user and end their sessions, or enable them again, with the audit line (design 7). Who is so already is
--   left alone, so a repeat does nothing.
-- Parameters: name, whether disabled; who does it. Returns: done | no_such_user. Waits for the user's lock, which whoever opens a
--   session shares. Indexes: the key of users, sessions_user_idx.
create function set_disabled_v1(of_user text, be_disabled boolean, who text) returns text language plpgsql as $$
declare
  is_disabled boolean;
begin
  select u.disabled into is_disabled from users as u where u.name = of_user for no key update;
  if not found then
    return 'no_such_user';
  end if;
  if is_disabled <> be_disabled then
    update users as u set disabled = be_disabled where u.name = of_user;
    delete from sessions as s where be_disabled and s.user_name = of_user;
    insert into audit_log (actor, action, detail)
    values (who, case when be_disabled then 'user_disabled' else 'user_enabled' end,
            convert_to(json_build_object('user', of_user)::text, 'UTF8'));
  end if;
  return 'done';
end $$;
