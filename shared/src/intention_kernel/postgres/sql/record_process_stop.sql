-- A process ends cleanly. $1 text: instance, $2 uuid: boot. Index: processes_pkey.
update processes set stopped_at = clock_timestamp() where instance = $1 and boot = $2
