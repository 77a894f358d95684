-- Purpose: what a run of the whole system left. Parameters: thread ids. Index: turns' key and threads' key.
-- Returns: how many turns are committed, the fewest and most events of one, bytes of a checkpoint and of an events block on average.
select count(*) as turns, min(u.event_count) as fewest_events, max(u.event_count) as most_events,
       avg(length(u.events))::float as events_bytes,
       (select avg(length(t.checkpoint))::float from threads as t where t.thread_id = any ($1::text[])) as checkpoint_bytes
from turns as u where u.thread_id = any ($1::text[])
