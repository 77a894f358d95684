-- Purpose: the head after a turn, compare-and-set on its revision. Parameters: thread, revision, count of events, agent, tenant,
--   fingerprint, schema revision, checkpoint. Returns: the new revision, no row where it moved. Index: threads' key.
update threads set revision = revision + 1, next_sequence = next_sequence + $3, agent_id = $4, tenant_id = $5,
  fingerprint = $6, schema_revision = $7, checkpoint = $8, lease_until = '-infinity', turn_id = null
where thread_id = $1 and revision = $2 returning revision
