-- Purpose, parameters, returns: see set_password_v1.
select set_password_v1($1, $2, $3, $4) as outcome
