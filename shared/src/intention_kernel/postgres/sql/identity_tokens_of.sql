-- Purpose: a user's tokens, the newest first; revoked ones too.
-- Parameters: $1 name. Returns: rows. Index: tokens_user_idx.
select token_id, user_name, label, prefix, permissions, created_at, expires_at, revoked_at, last_used_at
from tokens
where user_name = $1
order by created_at desc, token_id
