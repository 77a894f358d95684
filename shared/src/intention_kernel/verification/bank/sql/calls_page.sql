-- Purpose: what arrived, in order.
-- Parameters: after (a sequence), rows.
-- Index: the primary key.
select sequence, op, thread_id, key, attempt, arrival, faults from calls
where sequence > :after order by sequence limit :rows
