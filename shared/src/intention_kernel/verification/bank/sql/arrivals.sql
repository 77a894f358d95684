-- Purpose: how often a key has arrived.
-- Parameters: op, thread_id, key.
-- Index: calls_by_key.
select count(*) from calls where op = :op and thread_id = :thread_id and key = :key
