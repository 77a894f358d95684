-- Purpose: one committed turn with its request, result and events. Parameters: $1 thread, $2 turn.
-- Returns: no or one row. Index: turns' key.
select thread_id, turn_id, revision, status, digest, request, requested_at_ms, result, first_sequence, event_count, events,
       committed_at
from turns where thread_id = $1 and turn_id = $2
