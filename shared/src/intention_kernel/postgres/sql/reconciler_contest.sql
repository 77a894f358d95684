-- Purpose, parameters, returns: see contest_receipt_v1.
select outcome, state, version, owner, until from contest_receipt_v1($1, $2, $3, $4, $5, $6)
