-- Purpose, parameters, returns: see thin_thread_v1.
select turns, receipts from thin_thread_v1($1, $2, $3)
