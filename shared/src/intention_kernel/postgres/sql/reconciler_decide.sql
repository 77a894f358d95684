-- Purpose, parameters, returns: see decide_receipt_v1.
select outcome, state, version, settlement, continuation, owner, until
from decide_receipt_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
