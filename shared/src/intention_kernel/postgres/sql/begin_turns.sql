-- Purpose: begin turns. Parameters, returns, indexes: functions/begin_turns_v1.sql.
select * from begin_turns_v1(
  $1::text[], $2::text[], $3::bytea[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::integer[], $9::integer[],
  $10::double precision[], $11::boolean)
