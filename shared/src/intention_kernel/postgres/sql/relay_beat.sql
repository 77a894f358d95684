-- Purpose: one round trip of a relay's heart: it lives, it keeps its shards, it sees the others.
-- Parameters: $1 owner text; $2 lease seconds double precision; $3 shards smallint[] and $4 epochs bigint[] that it holds.
-- Returns: one row: the shards still its own, the live relays (itself included), the shard count, and the seconds until
--   the first lease of somebody else runs out (0: a shard can be taken now, null: none).
-- Index: primary keys; both tables are small. An expired lease never revives: its shard may have had another owner
--   meanwhile, in a database that lost that owner's row. Relays of the past are swept up on the way.
with heart as (
  insert into relays as r (owner, seen_at) values ($1, clock_timestamp())
  on conflict (owner) do update set seen_at = excluded.seen_at
  returning r.owner
),
swept as (
  delete from relays where seen_at < clock_timestamp() - make_interval(secs => 100 * $2) and owner <> $1
),
renewed as (
  update relay_leases as l set expires_at = clock_timestamp() + make_interval(secs => $2)
  from unnest($3::smallint[], $4::bigint[]) as mine (shard, epoch)
  where l.shard = mine.shard and l.epoch = mine.epoch and l.owner = $1 and l.expires_at > clock_timestamp()
  returning l.shard
)
select coalesce((select array_agg(renewed.shard) from renewed), '{}') as renewed,
       (select count(*) from heart)
         + (select count(*) from relays
            where owner <> $1 and seen_at > clock_timestamp() - make_interval(secs => $2)) as live_relays,
       (select shard_count from installation) as shard_count,
       (select min(case when owner = $1 then 0 else extract(epoch from greatest(expires_at, now()) - now()) end)
        from relay_leases
        where owner is distinct from $1 or expires_at <= now() or shard <> all ($3::smallint[])
       )::double precision as next_expiry_seconds
