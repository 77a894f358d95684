-- Purpose: keep and publish a record that no lane waits for. Parameters, returns, indexes: functions/reject_request_v1.sql.
select reject_request_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) as is_new
