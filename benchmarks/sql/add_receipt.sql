-- Purpose: a receipt, prepared. Parameters: thread, key, receipt id, effect id, turn, agent, tenant, attempt id, fingerprint,
--   payload, host context, title, seconds of the call. Returns: nothing. Indexes: receipts' keys.
insert into receipts (thread_id, effect_key, receipt_id, effect_id, turn_id, agent_id, tenant_id, state, attempt_id,
                      fingerprint, payload, host_context, title, call_deadline)
values ($1, $2, $3, $4, $5, $6, $7, 'prepared', $8, $9, $10, $11, $12, clock_timestamp() + make_interval(secs => $13))
