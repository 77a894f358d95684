-- Purpose: a continuation's journal joins that of the turn it resumed while that turn still waits; what the turn saw of the
--   settled key is superseded by the settlement. Else both are over (protocol R30).
-- Parameters: thread, the continuation's turn, the resumed turn, the settled key.
-- Returns: nothing. Indexes: the keys of turn_journal and blocked_steps.
create function merge_journal_v1(thread text, turn text, resumed text, settled_key text) returns void language plpgsql as $$
begin
  if exists (select from blocked_steps as b where b.thread_id = thread and b.turn_id = resumed) then
    delete from turn_journal as j
    where j.thread_id = thread and j.turn_id = resumed and j.kind = 'outcome' and j.effect_key = settled_key;
    insert into turn_journal (thread_id, turn_id, entry, kind, effect_key, outcome, request_digest, body, requested_at_ms)
    select thread, resumed, j.entry, j.kind, j.effect_key, j.outcome, j.request_digest, j.body, j.requested_at_ms
    from turn_journal as j where j.thread_id = thread and j.turn_id = turn
    on conflict (thread_id, turn_id, entry) do nothing;
  else
    delete from turn_journal as j where j.thread_id = thread and j.turn_id = resumed;
  end if;
  delete from turn_journal as j where j.thread_id = thread and j.turn_id = turn;
end $$;
