-- Purpose: what people said of one receipt, oldest first.
-- Parameters: $1 thread, $2 key. Returns: notes. Index: receipt_notes' key.
select note_id, kind, actor, body, at
from receipt_notes
where thread_id = $1 and effect_key = $2
order by at, note_id
