-- Purpose: make heads, so that no turn has to. Parameters: thread ids. Returns: nothing. Index: threads' key.
insert into threads (thread_id) select unnest($1::text[])
