-- Purpose: what happened, in order.
-- Parameters: after (a sequence), rows.
-- Index: the primary key.
select sequence, op, thread_id, key, attempt, reference from ledger where sequence > :after order by sequence limit :rows
