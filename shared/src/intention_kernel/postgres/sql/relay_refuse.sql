-- Purpose: mark a row that the broker will never accept; it leaves the fetch window and stops its stream (protocol R37).
-- Parameters: $1 shard smallint, $2 id bigint, $3 thread id text, $4 topic text, $5 dedupe text, $6 reason text.
-- Returns: nothing. A row that is marked or gone already is left alone.
-- Index: outbox's primary key.
insert into outbox_refused (shard, id, thread_id, topic, dedupe, reason)
select o.shard, o.id, o.thread_id, o.topic, o.dedupe, $6
from outbox as o
where o.shard = $1 and o.id = $2 and o.thread_id = $3 and o.topic = $4 and o.dedupe = $5
on conflict (shard, id) do nothing
