-- Purpose: a thread's head with its checkpoint, for people.
-- Parameters: $1 thread. Returns: no or one row; lease_until null where no lease was ever taken. Index: threads' key.
select thread_id, state, agent_id, tenant_id, revision, next_sequence, fingerprint, schema_revision, checkpoint, fence,
       nullif(lease_until, '-infinity') as lease_until, lease_nonce is not null and lease_until > clock_timestamp() as is_leased,
       turn_id, attempts, crashes
from threads where thread_id = $1
