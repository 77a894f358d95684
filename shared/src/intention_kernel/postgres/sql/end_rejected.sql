-- Purpose, parameters, returns: see end_rejected_v1.
select outcome, state from end_rejected_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
