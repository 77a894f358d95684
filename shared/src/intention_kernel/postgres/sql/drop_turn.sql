-- Purpose, parameters, returns: see drop_turn_v1.
select outcome, state from drop_turn_v1($1, $2, $3, $4, $5)
