-- Purpose: what a proposal is now (design 7): one that nobody closed is overtaken once its receipt moved, else expired once its
--   time is over, whether or not anybody has written that down.
-- Parameters: its stored state, when it expires, the receipt's version that it was made for, the one now. Returns: that word.
create function proposal_state_v1(stored text, expires_at timestamptz, seen_version bigint, version_now bigint)
returns text language sql volatile as $$
  select case
    when stored <> 'proposed' then stored
    when version_now is distinct from seen_version then 'overtaken'
    when expires_at <= clock_timestamp() then 'expired'
    else 'proposed' end
$$;
