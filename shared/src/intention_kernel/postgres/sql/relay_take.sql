-- Purpose: take shards that nobody holds.
-- Parameters: $1 owner text; $2 lease seconds double precision; $3 at most so many integer; $4 shards smallint[] that the
--   owner knows to be its own: what it has beyond them was taken by a call whose answer was lost, and is taken again.
-- Returns: each shard taken and its new epoch, which nobody had before.
-- Index: none needed, one row per shard. SKIP LOCKED lets takers pass each other; it is about leases, never about rows.
with free as (
  select shard from relay_leases
  where expires_at <= clock_timestamp() or (owner = $1 and shard <> all ($4::smallint[]))
  order by shard limit $3 for update skip locked
)
update relay_leases as l
set owner = $1, epoch = l.epoch + 1, expires_at = clock_timestamp() + make_interval(secs => $2)
from free
where l.shard = free.shard
returning l.shard, l.epoch
