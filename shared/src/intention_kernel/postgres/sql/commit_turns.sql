-- Purpose: commit turns. Parameters, returns, indexes: functions/commit_turns_v1.sql.
select * from commit_turns_v1(
  $1::text[], $2::text[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[],
  $10::integer[], $11::bytea[], $12::bytea[], $13::bigint[], $14::bytea[], $15::text[], $16::bytea[], $17::integer[],
  $18::text[], $19::text[], $20::text[], $21::bigint[], $22::text[], $23::text[],
  $24::bigint[], $25::text[], $26::text[], $27::text[], $28::text[], $29::bytea[], $30::bytea[], $31::boolean)
