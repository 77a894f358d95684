-- Purpose: give a set-aside turn up for ever (protocol R33): begin answers set_aside from then on, and its journal goes. What
--   its receipts say stays, and so do their open items.
-- Parameters: thread, revision of the set-aside row; id of the decision, who decides, why.
-- Returns one row: dropped (also: by this decision already) | not_open | not_found; the row's state now. Waits for the head's
--   lock. Indexes: the keys of threads, set_aside_turns, turn_journal and reconciliation_items.
create function drop_turn_v1(thread text, aside_revision bigint, decision uuid, who text, why text)
returns table (outcome text, state text) language plpgsql as $$
#variable_conflict use_column
declare
  aside set_aside_turns;
begin
  perform from threads as t where t.thread_id = thread for no key update;
  select s.* into aside from set_aside_turns as s where s.thread_id = thread and s.revision = aside_revision;
  if aside.turn_id is null then
    return query select 'not_found', null::text;
  elsif aside.state = 'dropped' and aside.decision_id = decision then
    return query select 'dropped', aside.state;
  elsif aside.state <> 'open' then
    return query select 'not_open', aside.state;
  else
    update set_aside_turns as s set state = 'dropped', decision_id = decision
    where s.thread_id = thread and s.turn_id = aside.turn_id and s.revision = aside_revision;
    perform close_orphaned_v1(thread, aside.turn_id, 'dropped');
    delete from turn_journal as j where j.thread_id = thread and j.turn_id = aside.turn_id;
    insert into audit_log (actor, action, thread_id, detail)
    values (who, 'drop', thread, convert_to(json_build_object(
      'decisionId', decision, 'turnId', aside.turn_id, 'revision', aside_revision, 'reason', why)::text, 'UTF8'));
    return query select 'dropped', 'dropped';
  end if;
end $$;
