-- Purpose: the times that a turn was set aside, oldest first. Parameters: $1 thread, $2 turn, $3 whether to leave out what was set
--   aside before the thread was anybody's. Returns: a row each, without the record. Index: set_aside_turns' key.
select thread_id, turn_id, revision, state, reason, detail, attempts, digest, at
from set_aside_turns where thread_id = $1 and turn_id = $2 and (not $3::boolean or base_digest is not null) order by revision
