-- Purpose, parameters, returns: see open_session_v1.
select open_session_v1($1, $2, $3, $4, $5, $6) as is_open
