-- Purpose: what a set-aside turn holds is nobody's question any more: the turn is redriven or dropped (protocol R32, R33).
-- Parameters: thread, turn, the reason to give. Returns: nothing. Index: reconciliation_items' key, by thread.
create function close_orphaned_v1(thread text, turn text, word text) returns void language sql as $$
  update reconciliation_items set phase = 'done', closed_at = clock_timestamp(), reason = word
  where thread_id = thread and kind = 'orphaned' and turn_id = turn and phase = 'open'
$$;
