-- Purpose: how much WAL was written up to now, and what all tables of this database hold with their indexes.
-- Parameters: none. Returns one row: wal and stored, in bytes. Indexes: none.
select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as wal,
       (select sum(pg_total_relation_size(c.oid)) from pg_class as c
        where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace)::bigint as stored
