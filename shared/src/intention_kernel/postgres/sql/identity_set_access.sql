-- Purpose, parameters, returns: see set_access_v1.
select outcome, missing from set_access_v1($1, $2, $3, $4, $5, $6)
