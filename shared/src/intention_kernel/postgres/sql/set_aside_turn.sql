-- Purpose: give a turn up. Parameters, returns, indexes: functions/set_aside_turn_v1.sql.
select * from set_aside_turn_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
