-- Purpose: revoke a token, with the audit line. A repeat finds it revoked and does nothing.
-- Parameters: $1 id, $2 who does it. Returns: nothing. Index: the key of tokens.
with revoked as (
  update tokens set revoked_at = clock_timestamp() where token_id = $1 and revoked_at is null returning *)
insert into audit_log (actor, action, detail)
select $2, 'token_revoked', convert_to(json_build_object('user', user_name, 'tokenId', token_id, 'label', label, 'prefix', prefix)::text, 'UTF8')
from revoked
