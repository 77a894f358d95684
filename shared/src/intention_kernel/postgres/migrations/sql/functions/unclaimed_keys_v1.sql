-- Purpose: the effect keys that a commit has to have met and has not (protocol R15).
-- Parameters: thread; turn; for a continuation the turn that it resumed and the settled key, else null; the keys it met, joined by U+001F.
-- Returns: the missing keys in order, null where none is. Index: turn_journal's key.
create function unclaimed_keys_v1(thread text, turn text, resumed text, settled_key text, claimed text)
returns text[] language sql stable as $$
  select array_agg(distinct w.ky order by w.ky) from (
    select j.effect_key as ky from turn_journal as j
    where j.thread_id = thread and j.turn_id in (turn, resumed) and j.kind = 'claim'
    union all
    select settled_key where resumed is not null
  ) as w
  where w.ky <> all (string_to_array(claimed, chr(31)))
$$;
