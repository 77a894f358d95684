-- Purpose: reject a request that was begun. Parameters, returns, indexes: functions/reject_begun_v1.sql.
select * from reject_begun_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
