-- Purpose: say on an open item why it is not settled, and when it is looked at again.
-- Parameters: $1 thread, $2 key, $3 settlement number, $4 reason, $5 seconds from now (null: not without a person).
-- Returns: nothing. Index: reconciliation_items' key.
update reconciliation_items
set reason = $4, looks = looks + 1,
    next_look_at = case when $5::double precision is null then 'infinity' else clock_timestamp() + make_interval(secs => $5) end
where thread_id = $1 and effect_key = $2 and settlement = $3 and kind = 'effect' and phase = 'open'
