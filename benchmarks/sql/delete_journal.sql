-- Purpose: a journal that is over. Parameters: thread, turn. Returns: nothing. Index: turn_journal's key.
delete from turn_journal where thread_id = $1 and turn_id = $2
