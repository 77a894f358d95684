-- Purpose: let threads go. Parameters, returns, indexes: functions/release_turns_v1.sql.
select * from release_turns_v1($1::text[], $2::bigint[], $3::boolean[], $4::boolean)
