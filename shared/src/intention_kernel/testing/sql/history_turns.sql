-- Purpose: committed turns with their events, for a history.
-- Parameters: none. Returns one row a turn. Indexes: none; it is asked of installations of a test or a demo.
select thread_id, turn_id, revision, status, first_sequence, events from turns order by thread_id, revision
