-- Purpose: what a recovery looks at first (protocol R39). Parameters: none. Returns: one row: what is fixed at migration, whether
--   a recovery is unfinished, and what may be alive: relay leases and thread leases that are not over, and the seconds until
--   the last of them is. Reads the heads that hold a lease: it runs once.
select i.partition_count, i.incarnation, i.recoveries, i.recovering, r.relays, t.threads,
       coalesce(extract(epoch from greatest(r.until, t.until) - clock_timestamp()), 0)::float8 as seconds
from installation as i
cross join (
  select count(distinct owner) as relays, max(expires_at) as until from relay_leases where expires_at > clock_timestamp()
) as r
cross join (
  select count(*) as threads, max(lease_until) as until from threads
  where lease_nonce is not null and lease_until > clock_timestamp()
) as t
