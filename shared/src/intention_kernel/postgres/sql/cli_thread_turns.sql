-- Purpose: turns of a thread down from a revision, newest first: revision by revision, since nothing of a thread is read by the
--   thread alone (protocol 9). Parameters: $1 thread, $2 the newest revision to show, $3 how many at most.
-- Returns: a row each, without request, result and events. Index: turns_revision_thread_uq, a look-up for each revision (as
--   soon as there are statistics: the planner is kept from joining, but on an empty table turns_pkey looks as good).
with recursive walk (revision, found) as (
  select $2::bigint + 1, 0
  union all
  select w.revision - 1, w.found + (t.revision is not null)::integer
  from walk as w
  left join lateral (
    select t.revision from turns as t where t.revision = w.revision - 1 and t.thread_id = $1 limit 1
  ) as t on true
  where w.revision > 1 and w.found < $3::integer
)
select t.turn_id, t.revision, t.status, t.event_count, t.committed_at
from walk as w
cross join lateral (
  select t.turn_id, t.revision, t.status, t.event_count, t.committed_at
  from turns as t where t.revision = w.revision and t.thread_id = $1 limit 1
) as t
where w.revision <= $2 order by t.revision desc
