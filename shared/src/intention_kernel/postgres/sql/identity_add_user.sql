-- Purpose, parameters, returns: see add_user_v1.
select outcome, missing from add_user_v1($1, $2, $3, $4, $5, $6, $7)
