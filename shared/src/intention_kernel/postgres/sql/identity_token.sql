-- Purpose: a token, never its secret.
-- Parameters: $1 id. Returns: at most one row. Index: the key of tokens.
select token_id, user_name, label, prefix, permissions, created_at, expires_at, revoked_at, last_used_at
from tokens
where token_id = $1
