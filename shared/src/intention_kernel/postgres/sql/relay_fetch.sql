-- Purpose: the oldest unpublished rows of each shard, with the bytes they point at.
-- Parameters: $1 shards smallint[]; $2 rows per shard integer; $3 bytes in all bigint; $4, $5 held streams: thread ids
--   text[] and topics text[] of equal length.
-- Returns: rows by shard and id. The byte bound cuts each shard's rows at the end, never in the middle; the oldest row of
--   the first shard always comes. "block" is packed records (a turn's events or a kept record), "value" one plain value.
-- Index: outbox's primary key (shard, id) per shard, turns' primary key per row. No cursor: a row that a transaction made
--   visible late is found whatever its id. octet_length reads no toasted value; what is cut is never detoasted.
select shard, id, thread_id, topic, dedupe, first_sequence, block, value
from (
  select candidate.*,
         sum(candidate.bytes) over (order by candidate.place, candidate.shard) - candidate.bytes as bytes_before
  from unnest($1::smallint[]) as mine (shard)
  cross join lateral (
    select o.shard, o.id, o.thread_id, o.topic, o.dedupe, o.first_sequence,
           coalesce(t.events, o.records) as block,
           o.value,
           coalesce(octet_length(t.events), octet_length(o.records), octet_length(o.value), 0) as bytes,
           row_number() over (order by o.id) as place
    from outbox as o
    left join turns as t on t.thread_id = o.thread_id and t.turn_id = o.turn_id
    where o.shard = mine.shard
      and not exists (
        select from outbox_refused as r
        where r.shard = o.shard and r.thread_id = o.thread_id and r.topic = o.topic
      )
      and not exists (
        select from unnest($4::text[], $5::text[]) as held (thread_id, topic)
        where held.thread_id = o.thread_id and held.topic = o.topic
      )
    order by o.id
    limit $2
  ) as candidate
) as window_of_rows
where bytes_before < $3
order by shard, id
