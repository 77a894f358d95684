-- Purpose: threads, for a history.
-- Parameters: none. Returns one row a thread. Indexes: none; it is asked of installations of a test or a demo.
select thread_id, revision, next_sequence, turn_id from threads order by thread_id
