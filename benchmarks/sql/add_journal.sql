-- Purpose: a recorded result. Parameters: thread, turn, entry, request digest, body. Returns: nothing. Index: turn_journal's key.
insert into turn_journal (thread_id, turn_id, entry, request_digest, body) values ($1, $2, $3, $4, $5)
