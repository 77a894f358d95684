-- Purpose: record what became of attempts. Parameters, returns, indexes: functions/end_effects_v1.sql.
select * from end_effects_v1(
  $1::text[], $2::text[], $3::text[], $4::uuid[], $5::bigint[], $6::text[], $7::bytea[], $8::bytea[], $9::boolean[],
  $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[], $16::bytea[], $17::bytea[],
  $18::boolean)
