-- Register a process. $1 text: instance, $2 uuid: boot. Index: processes_pkey.
insert into processes as p (instance, boot) values ($1, $2)
on conflict (instance) do update set boot = excluded.boot, started_at = clock_timestamp(), stopped_at = null
where p.boot is distinct from excluded.boot
