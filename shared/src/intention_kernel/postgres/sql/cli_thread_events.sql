-- Purpose: the committed turns of a thread that have events over a sequence, oldest first. It walks back from the newest
--   revision, so what it costs does not grow with what is older; where nothing is newer it reads the head alone.
-- Parameters: $1 thread, $2 the sequence, $3 how many turns at most. Returns: a row each with its block of events.
-- Indexes: threads' key; turns_revision_thread_uq, a look-up for each revision (as soon as there are statistics: the planner
--   is kept from joining, but on an empty table turns_pkey looks as good).
with recursive back (revision, first_sequence, event_count) as (
  select h.revision + 1, null::bigint, 0 from threads as h where h.thread_id = $1 and h.next_sequence - 1 > $2::bigint
  union all
  select b.revision - 1, t.first_sequence, t.event_count
  from back as b
  left join lateral (
    select t.first_sequence, t.event_count from turns as t where t.revision = b.revision - 1 and t.thread_id = $1 limit 1
  ) as t on true
  where b.revision > 1 and coalesce(b.first_sequence - 1 > $2, true)
), newer as (
  select revision from back where first_sequence + event_count - 1 > $2 order by revision limit $3
)
select t.first_sequence, t.event_count, t.events
from newer as n
cross join lateral (
  select t.first_sequence, t.event_count, t.events from turns as t where t.revision = n.revision and t.thread_id = $1 limit 1
) as t
order by n.revision
