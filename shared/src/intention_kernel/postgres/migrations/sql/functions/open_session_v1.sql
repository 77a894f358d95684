-- Purpose: open a session on the password that was verified, with the audit line (design 7). Some that are over are deleted on
--   the way. Repeatable by its secret.
-- Parameters: name, the hash that was verified, the same password's hash with today's cost (null: it has that already), SHA-256
--   of the session's secret, for how many seconds, from which address.
-- Returns whether it is open: not where the user is disabled or has another password by now. Shares the user's lock, so that no
--   session outlives the change that ends it. Indexes: the keys of users and sessions, sessions_expires_idx.
create function open_session_v1(
  of_user text, verified_hash text, better_hash text, secret bytea, seconds double precision, address text)
returns boolean language plpgsql as $$
declare
  kept_hash text;
begin
  if exists (select from sessions as s where s.secret_hash = secret) then
    return true;
  end if;
  if better_hash is null then
    select u.password_hash into kept_hash from users as u where u.name = of_user and not u.disabled for share;
  else
    select u.password_hash into kept_hash from users as u where u.name = of_user and not u.disabled for no key update;
  end if;
  if kept_hash is distinct from verified_hash or kept_hash is null then
    return false;
  end if;
  delete from sessions as s where s.secret_hash in (
    select o.secret_hash from sessions as o where o.expires_at <= (select clock_timestamp())
    order by o.expires_at limit 100 for update skip locked);
  if better_hash is not null then
    update users as u set password_hash = better_hash where u.name = of_user;
  end if;
  insert into sessions (secret_hash, user_name, expires_at)
  values (secret, of_user, clock_timestamp() + make_interval(secs => seconds))
  on conflict (secret_hash) do nothing;
  if found then
    insert into audit_log (actor, action, detail)
    values (of_user, 'sign_in', convert_to(json_build_object('address', address)::text, 'UTF8'));
  end if;
  return true;
end $$;
