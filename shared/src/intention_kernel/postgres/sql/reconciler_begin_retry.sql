-- Purpose, parameters, returns: see begin_retry_v1.
select outcome, version, unfinished from begin_retry_v1($1, $2, $3, $4, $5, $6)
