-- Purpose: lease a locked head. Parameters: thread, turn, seconds. Returns: nothing. Index: threads' key.
update threads set turn_id = $2, lease_until = clock_timestamp() + make_interval(secs => $3) where thread_id = $1
