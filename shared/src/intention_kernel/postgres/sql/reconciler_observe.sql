-- Purpose: keep what a resolver saw, whatever it was. May be repeated with the same values.
-- Parameters: $1 thread, $2 key, $3 number of the settlement to come, $4 receipt version before the look, $5 source,
--   $6 finding, $7 detail, $8 value (packed), $9 reference, $10 when the look began on the database's clock.
-- Returns: nothing. Index: observations' key.
insert into observations (
  thread_id, effect_key, settlement, receipt_version, source, finding, detail, value, reference, started_at)
select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
where not exists (
  select from observations where thread_id = $1 and effect_key = $2 and source = $5 and started_at = $10)
