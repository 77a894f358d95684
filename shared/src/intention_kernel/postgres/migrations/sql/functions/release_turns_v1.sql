-- Purpose: let threads go without an outcome; the turn stays on the head with its attempts (protocol R6).
-- Parameters, one element a row, at most one row a thread: thread, fence, whether the attempt counts. And whether to wait.
-- Returns one row each: its ordinal and released | fenced | contended. Index: threads' key.
create function release_turns_v1(thread_ids text[], fences bigint[], counts boolean[], wait boolean)
returns table (ord bigint, outcome text) language plpgsql as $$
#variable_conflict use_column
declare
  locked text[];
begin
  locked := lock_heads_v1(thread_ids, wait);
  return query
  with asked as (
    select * from unnest(thread_ids, fences, counts) with ordinality as a (th, fe, counted, ord)
  ), released as (
    update threads as t set lease_nonce = null, lease_until = '-infinity',
      attempts = greatest(t.attempts - (not a.counted)::integer, 0)
    from asked as a
    where t.thread_id = a.th and a.th = any (locked) and t.fence = a.fe and t.lease_nonce is not null
    returning a.ord
  )
  select a.ord, case when exists (select from released as r where r.ord = a.ord) then 'released'
                     when a.th <> all (locked) and (select true from threads as t where t.thread_id = a.th)
                       then 'contended'
                     else 'fenced' end
  from asked as a;
end $$;
