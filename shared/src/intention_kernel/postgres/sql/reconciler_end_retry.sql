-- Purpose: a retry ended without an answer: the receipt stays uncertain, and others may look at it again (protocol R26).
-- Parameters: $1 thread, $2 key, $3 the version that the retry made, $4 whether every retry has ended: one that has not may
--   still send, which only the workers' stop ends (protocol R22 c).
-- Returns: nothing. Index: receipts' key.
update receipts
set retry_until = case when $4 then '-infinity' else least(retry_until, clock_timestamp()) end
where thread_id = $1 and effect_key = $2 and version = $3 and state = 'uncertain'
