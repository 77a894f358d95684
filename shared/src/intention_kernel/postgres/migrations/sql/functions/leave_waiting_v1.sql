-- Purpose: what a commit leaves waiting (protocol R18, R29, R30): abandoned receipts, blocked steps, the journal under them,
--   and the continuations to ask for. The caller has locked the head and the receipts, and written the turn.
-- Parameters: thread, turn, fence; for a continuation the settled key and the turn it resumed, else null; the blocked keys
--   and, side by side, the turns that they block.
-- Returns: nothing. Indexes: the keys of receipts, blocked_steps, turn_journal, reconciliation_items.
create function leave_waiting_v1(
  thread text, turn text, fence_number bigint, settled_key text, resumed text, blocked_keys text[], blocked_turns text[])
returns void language plpgsql as $$
#variable_conflict use_column
declare
  home text := coalesce(resumed, turn);
  abandoned text[];
  settled record;
begin
  with moved as (
    update receipts as r set state = 'uncertain', version = r.version + 1, cause = 'commit'
    from turn_journal as j
    where j.thread_id = thread and j.turn_id = turn and j.kind = 'claim'
      and r.thread_id = thread and r.effect_key = j.effect_key and r.state = 'prepared' and r.fence = fence_number
    returning r.effect_key
  ) select coalesce(array_agg(effect_key), '{}') into abandoned from moved;

  -- A continuation has run its turn again: what that turn waits for now is what this commit says, and no more (R30).
  delete from blocked_steps as b
  where b.thread_id = thread and b.turn_id = resumed and b.effect_key <> all (abandoned)
    and not exists (select from unnest(blocked_keys, blocked_turns) as w (ky, tu) where w.ky = b.effect_key and w.tu = b.turn_id);
  insert into blocked_steps (thread_id, effect_key, turn_id, revision)
  select thread, w.ky, w.tu, u.revision from (
    select ky, tu from unnest(blocked_keys, blocked_turns) as s (ky, tu)
    union select ky, home from unnest(abandoned) as s (ky)
  ) as w cross join lateral (
    select o.revision from turns as o where o.thread_id = thread and o.turn_id = w.tu offset 0
  ) as u
  on conflict (thread_id, effect_key, turn_id) do nothing;

  if resumed is not null then
    perform merge_journal_v1(thread, turn, resumed);
  end if;

  -- Is a receipt settled by now for which somebody waits? Settling did not look (R29); and others may wait still (R30).
  for settled in
    select r.effect_key, r.receipt_id, r.settlements from receipts as r
    where r.thread_id = thread and r.effect_key = any (blocked_keys || settled_key)
      and r.state in ('completed', 'failed') and not r.contradicted and r.settlements > 0
      and exists (select from blocked_steps as b where b.thread_id = thread and b.effect_key = r.effect_key)
    order by r.effect_key
  loop
    perform ask_continuation_v1(thread, settled.effect_key, settled.settlements,
                                next_issue_v1(thread, settled.effect_key, settled.receipt_id, settled.settlements));
  end loop;

  -- The item of a continuation that has run, and asked for no other, is done (R31).
  update reconciliation_items as i set phase = 'done', closed_at = clock_timestamp()
  where i.thread_id = thread and i.effect_key = settled_key and i.kind = 'effect' and i.turn_id = turn;
end $$;
