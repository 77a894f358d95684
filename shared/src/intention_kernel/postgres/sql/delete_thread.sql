-- Purpose, parameters, returns: see delete_thread_v1.
select delete_thread_v1($1, $2, $3) as outcome
