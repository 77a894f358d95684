-- Purpose: whether a thread's receipt is in the operator queue. Parameters: $1 the thread. Returns a row or none. Index: its key.
select from reconciliation_items where thread_id = $1 limit 1
