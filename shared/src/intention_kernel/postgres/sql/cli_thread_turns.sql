-- Purpose: the last turns of a thread, newest first. Parameters: $1 thread, $2 how many at most.
-- Returns: a row each, without request, result and events. Index: turns_pkey, for the turns of the thread.
select turn_id, revision, status, event_count, committed_at from turns where thread_id = $1 order by revision desc limit $2
