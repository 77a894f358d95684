-- Purpose, parameters, returns: see set_disabled_v1.
select set_disabled_v1($1, $2, $3) as outcome
