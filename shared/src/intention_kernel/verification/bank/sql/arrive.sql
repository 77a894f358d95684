-- Purpose: a request arrived.
-- Parameters: op, thread_id, key, attempt, arrival, faults (names with blanks between).
insert into calls (op, thread_id, key, attempt, arrival, faults)
values (:op, :thread_id, :key, :attempt, :arrival, :faults)
