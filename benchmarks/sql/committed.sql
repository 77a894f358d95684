-- Purpose: whether a thread has a committed turn. Parameters: $1 the thread. Returns a row or none. Index: turns' key.
select from turns where thread_id = $1 limit 1
