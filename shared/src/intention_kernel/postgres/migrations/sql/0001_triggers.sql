-- Legality of receipt moves, their history, and the tables that are only appended to (design 4, protocol 3).

-- Refuse an illegal move of a receipt. Legal: to completed, failed or uncertain from prepared; to completed or failed from
-- uncertain; to prepared from failed unless contradicted. A contest alone clears contradicted, counts as a settlement, and may
-- move what is not prepared to completed or failed (R25). version grows by one.
create function check_receipt_move_v1() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'prepared' or new.version <> 1 or new.attempt <> 1 then
      raise exception 'a receipt begins prepared, with version 1 and attempt 1' using errcode = 'IK001';
    end if;
    return new;
  end if;
  if new.version <> old.version + 1 then
    raise exception 'version of a receipt goes from % to %', old.version, old.version + 1 using errcode = 'IK001';
  end if;
  if old.contradicted and not new.contradicted
     and (new.cause <> 'contest' or new.settlements <> old.settlements + 1 or new.state not in ('completed', 'failed')) then
    raise exception 'a contradiction is not cleared' using errcode = 'IK001';
  end if;
  if new.state <> old.state and not (
       (old.state = 'prepared' and new.state in ('completed', 'failed', 'uncertain'))
    or (old.state = 'uncertain' and new.state in ('completed', 'failed'))
    or (old.state = 'failed' and new.state = 'prepared' and not old.contradicted)
    or (old.state <> 'prepared' and old.contradicted and not new.contradicted)) then
    raise exception 'a receipt cannot go from % to %', old.state, new.state using errcode = 'IK001';
  end if;
  return new;
end $$;

create trigger receipts_move_trg before insert or update of state, version, contradicted, settlements, attempt, value on receipts
  for each row execute function check_receipt_move_v1();

-- Append what a receipt has become to its history.
create function append_receipt_transition_v1() returns trigger language plpgsql as $$
begin
  insert into receipt_transitions (thread_id, effect_key, version, from_state, state, attempt, contradicted, settlements, cause)
  values (new.thread_id, new.effect_key, new.version, case when tg_op = 'UPDATE' then old.state end, new.state, new.attempt,
          new.contradicted, new.settlements, new.cause);
  return null;
end $$;

create trigger receipts_history_trg after insert or update of state, version, contradicted, settlements, attempt, value on receipts
  for each row execute function append_receipt_transition_v1();

-- Refuse to change a table that is only appended to, but for retention and deletion, which say so to their own transaction
-- (protocol R38).
create function refuse_change_v1() returns trigger language plpgsql as $$
begin
  if current_setting('intention.forgets', true) = 'on' then
    return coalesce(new, old);
  end if;
  raise exception '% is only appended to', tg_table_name using errcode = 'IK002';
end $$;

create trigger receipt_transitions_append_only_trg before update or delete on receipt_transitions
  for each row execute function refuse_change_v1();
create trigger turns_append_only_trg before update or delete on turns
  for each row execute function refuse_change_v1();
create trigger audit_log_append_only_trg before update or delete on audit_log
  for each row execute function refuse_change_v1();
create trigger receipt_notes_append_only_trg before update or delete on receipt_notes
  for each row execute function refuse_change_v1();
