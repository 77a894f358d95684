-- Purpose, parameters, returns: see note_receipt_v1.
select outcome from note_receipt_v1($1, $2, $3, $4, $5, $6)
