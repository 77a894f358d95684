-- Purpose: a receipt's value. Parameters: thread, key, attempt id, value. Returns: nothing. Index: receipts' key.
update receipts set state = 'completed', value = $4, returned_at = clock_timestamp()
where thread_id = $1 and effect_key = $2 and attempt_id = $3 and state = 'prepared'
