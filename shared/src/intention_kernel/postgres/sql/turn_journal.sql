-- Purpose: the journal of a turn. Parameters: $1 thread, $2 turn. Returns: its entries in order. Index: turn_journal's key.
select j.entry, j.kind, j.effect_key, j.outcome, j.request_digest, j.body
from turn_journal as j where j.thread_id = $1::text and j.turn_id = $2::text order by j.position
