-- Purpose: a continuation's journal joins that of the turn it resumed while that turn still waits, the newer of two entries
--   winning. Else both are over (protocol R30).
-- Parameters: thread, the continuation's turn, the resumed turn.
-- Returns: nothing. Indexes: the keys of turn_journal and blocked_steps.
create function merge_journal_v1(thread text, turn text, resumed text) returns void language plpgsql as $$
begin
  if exists (select from blocked_steps as b where b.thread_id = thread and b.turn_id = resumed) then
    insert into turn_journal (thread_id, turn_id, entry, kind, effect_key, outcome, request_digest, body, requested_at_ms)
    select thread, resumed, j.entry, j.kind, j.effect_key, j.outcome, j.request_digest, j.body, j.requested_at_ms
    from turn_journal as j where j.thread_id = thread and j.turn_id = turn
    on conflict (thread_id, turn_id, entry) do update set kind = excluded.kind, effect_key = excluded.effect_key,
      outcome = excluded.outcome, request_digest = excluded.request_digest, body = excluded.body;
  else
    delete from turn_journal as j where j.thread_id = thread and j.turn_id = resumed;
  end if;
  delete from turn_journal as j where j.thread_id = thread and j.turn_id = turn;
end $$;
