-- Purpose: attempts of a key up to this one are refused for ever.
-- Parameters: thread_id, key, attempt.
insert into closed (thread_id, key, attempt) values (:thread_id, :key, :attempt)
on conflict (thread_id, key) do update set attempt = max(attempt, excluded.attempt)
