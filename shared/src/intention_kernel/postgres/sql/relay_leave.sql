-- Purpose: a relay that stops no longer counts when shards are shared out.
-- Parameters: $1 owner text.
-- Returns: nothing.
-- Index: relays' primary key.
delete from relays where owner = $1
