-- Purpose: what of a server the guarantees rest on, as a session of the adopter's role has it.
-- Parameters: none. Returns one row.
-- Indexes: none; settings, once a run.
select current_setting('server_version_num')::int as version, current_setting('server_version') as version_text,
       current_setting('default_transaction_isolation') as isolation,
       current_setting('synchronous_commit') as synchronous_commit,
       current_setting('synchronous_standby_names') as standbys,
       current_setting('fsync') = 'on' as fsync, current_setting('full_page_writes') = 'on' as full_page_writes,
       pg_is_in_recovery() as is_replica, current_setting('transaction_read_only') = 'on' as is_read_only,
       current_setting('server_encoding') as encoding, clock_timestamp() as now
