-- Purpose: a committed turn. Parameters: thread, turn, revision, status, digest, request, request time, result, first sequence,
--   count of events, events. Returns: nothing. Index: turns' key.
insert into turns (thread_id, turn_id, revision, status, digest, request, requested_at_ms, result, first_sequence,
                   event_count, events)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
