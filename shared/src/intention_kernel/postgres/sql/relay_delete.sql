-- Purpose: forget rows that the broker acknowledged, matched by all that identifies them (protocol R35).
-- Parameters: $1 shards smallint[], $2 ids bigint[], $3 thread ids text[], $4 topics text[], $5 dedupes text[].
-- Returns: how many rows were there.
-- Index: outbox's primary key. The commit does not wait for the disk (R2): a delete that a crash of the server loses is a
--   duplicate for the topic, nothing worse; set_config is local to this statement's own transaction.
with unhurried as materialized (
  select set_config('synchronous_commit', 'off', true) as setting
),
gone as (
  delete from outbox as o
  using unnest($1::smallint[], $2::bigint[], $3::text[], $4::text[], $5::text[])
    as acknowledged (shard, id, thread_id, topic, dedupe)
  where o.shard = acknowledged.shard
    and o.id = acknowledged.id
    and o.thread_id = acknowledged.thread_id
    and o.topic = acknowledged.topic
    and o.dedupe = acknowledged.dedupe
  returning 1
)
select count(gone.*) from unhurried left join gone on unhurried.setting is not null
