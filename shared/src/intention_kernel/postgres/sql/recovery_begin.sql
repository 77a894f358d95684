-- Purpose: begin to recover. Parameters, returns: functions/begin_recovery_v1.sql.
select begin_recovery_v1($1::text, $2::integer[], $3::bigint[], $4::text, $5::text, $6::bytea)
