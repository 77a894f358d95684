-- Purpose: the turns that wait for a receipt, oldest first. Parameters: $1 thread, $2 effect key. Returns: a row each.
-- Index: blocked_steps' key.
select turn_id, revision from blocked_steps where thread_id = $1 and effect_key = $2 order by revision
