-- Purpose: renew leases. Parameters, returns, indexes: functions/renew_leases_v1.sql; $4 has no meaning, since it never waits.
select * from renew_leases_v1($1::text[], $2::bigint[], $3::double precision[]) where $4::boolean is not null
