-- Purpose: lock heads in the order that everybody uses (protocol R9).
-- Parameters: thread ids; whether to wait for those that are locked elsewhere (a row that is tried again alone does).
-- Returns: the ids of the heads that exist and are locked now. Index: threads' key.
create function lock_heads_v1(wanted text[], wait boolean) returns text[] language plpgsql as $$
declare
  locked text[];
begin
  if wait then
    select array_agg(l.thread_id) into locked from (
      select t.thread_id from threads as t where t.thread_id = any (wanted)
      order by t.thread_id for no key update) as l;
  else
    select array_agg(l.thread_id) into locked from (
      select t.thread_id from threads as t where t.thread_id = any (wanted)
      order by t.thread_id for no key update skip locked) as l;
  end if;
  return coalesce(locked, '{}');
end $$;
