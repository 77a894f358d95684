-- Purpose: give shards back, so that another relay takes them without waiting for the lease to run out.
-- Parameters: $1 owner text; $2 shards smallint[] and $3 epochs bigint[].
-- Returns: nothing. What is no longer held with that epoch is left alone. Relays that want shards are woken.
-- Index: relay_leases' primary key.
with given as (
  update relay_leases as l set owner = null, expires_at = '-infinity'
  from unnest($2::smallint[], $3::bigint[]) as mine (shard, epoch)
  where l.shard = mine.shard and l.epoch = mine.epoch and l.owner = $1
  returning 1
)
select pg_notify('intention_outbox', 'shards') where exists (select from given)
