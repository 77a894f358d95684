-- Purpose: let a lane go forward without a turn: revision + 1, the sequence beyond the events, nobody holds the thread.
--   The caller has locked the head and checked the fence.
-- Parameters: thread, count of events. Returns: nothing. Index: threads' key.
create function move_head_v1(thread text, event_count integer) returns void language sql as $$
  update threads set revision = revision + 1, next_sequence = next_sequence + event_count, lease_nonce = null,
    lease_until = '-infinity', turn_id = null, turn_digest = null, attempts = 0, crashes = 0
  where thread_id = thread
$$;
