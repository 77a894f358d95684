-- Purpose: tokens of everybody, the newest first; revoked ones too.
-- Returns: rows. Index: the key of tokens, all of them.
select token_id, user_name, label, prefix, permissions, created_at, expires_at, revoked_at, last_used_at
from tokens
order by created_at desc, token_id
