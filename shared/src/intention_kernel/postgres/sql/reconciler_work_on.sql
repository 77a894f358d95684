-- Purpose, parameters, returns: see work_on_receipt_v1.
select outcome, version, owner, until from work_on_receipt_v1($1, $2, $3, $4, $5, $6, $7)
