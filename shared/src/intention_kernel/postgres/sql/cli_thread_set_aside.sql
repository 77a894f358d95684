-- Purpose: what was set aside of a thread last, newest first. Parameters: $1 thread, $2 whether to leave out what was set aside
--   before the thread was anybody's, $3 how many at most. Returns: a row each, without the record.
-- Index: set_aside_turns' key, by thread (few are set aside).
select thread_id, turn_id, revision, state, reason, detail, attempts, digest, at
from set_aside_turns where thread_id = $1 and (not $2::boolean or base_digest is not null) order by revision desc limit $3
