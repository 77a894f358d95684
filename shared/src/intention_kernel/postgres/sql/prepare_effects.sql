-- Purpose: prepare attempts. Parameters, returns, indexes: functions/prepare_effects_v1.sql.
select * from prepare_effects_v1(
  $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bytea[], $8::bytea[], $9::text[],
  $10::text[], $11::numeric[], $12::text[], $13::bigint[], $14::uuid[], $15::text[], $16::text[], $17::double precision[],
  $18::double precision[], $19::boolean[], $20::double precision[], $21::boolean[], $22::text[], $23::uuid[],
  $24::bigint[], $25::boolean[], $26::bigint[], $27::text[], $28::text[], $29::text[], $30::text[], $31::bytea[],
  $32::bytea[], $33::boolean)
