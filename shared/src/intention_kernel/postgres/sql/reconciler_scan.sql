-- Purpose, parameters, returns: see scan_receipts_v1.
select uncertain, opened from scan_receipts_v1($1)
