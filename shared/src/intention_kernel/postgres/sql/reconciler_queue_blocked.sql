-- Purpose: the turns that wait for one receipt, oldest first.
-- Parameters: $1 thread, $2 key. Returns: turn ids. Index: blocked_steps' key.
select turn_id
from blocked_steps
where thread_id = $1 and effect_key = $2
order by revision
