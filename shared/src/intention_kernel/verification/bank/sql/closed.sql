-- Purpose: up to which attempt a key is closed.
-- Parameters: thread_id, key.
-- Index: the primary key.
select attempt from closed where thread_id = :thread_id and key = :key
