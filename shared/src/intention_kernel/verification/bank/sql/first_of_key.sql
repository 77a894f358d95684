-- Purpose: the first effect under a key.
-- Parameters: op, thread_id, key.
-- Index: ledger_by_key.
select reference, payload, attempt from ledger
where op = :op and thread_id = :thread_id and key = :key
order by sequence limit 1
