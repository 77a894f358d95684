-- Purpose: push the deadlines of live leases (protocol R12). A head that is locked elsewhere is in use: it is skipped and
--   reported as it stands. A lease that is over is never revived (R3).
-- Parameters, one element a row, at most one row a thread: thread, fence, seconds from now.
-- Returns one row each: its ordinal, and whether the lease is ours and alive. Index: threads' key.
create function renew_leases_v1(thread_ids text[], fences bigint[], lease_seconds double precision[])
returns table (ord bigint, alive boolean) language plpgsql as $$
#variable_conflict use_column
declare
  locked text[];
begin
  locked := lock_heads_v1(thread_ids, false);
  return query
  with asked as (
    select * from unnest(thread_ids, fences, lease_seconds) with ordinality as a (th, fe, secs, ord)
  ), renewed as (
    update threads as t set lease_until = clock_timestamp() + make_interval(secs => a.secs)
    from asked as a
    where t.thread_id = a.th and a.th = any (locked) and t.fence = a.fe and t.lease_nonce is not null
      and t.lease_until > clock_timestamp()
    returning a.ord
  )
  select a.ord, exists (select from renewed as r where r.ord = a.ord) or (
      a.th <> all (locked) and t.fence = a.fe and t.lease_nonce is not null and t.lease_until > clock_timestamp()) is true
  from asked as a left join threads as t on t.thread_id = a.th;
end $$;
