-- Purpose: send a set-aside turn again (protocol R33): its row is redriven, and its request as it came is in the outbox, by one
--   transaction. Refused while one of its receipts has no known outcome; where its thread went on, only if that is meant.
-- Parameters: thread, revision of the set-aside row; whether it may run after turns that came later; whether to look only;
--   id of the decision, who decides, why.
-- Returns one row: redriven (also: by this decision already; of a look: it would be) | receipts | later_turns | not_open |
--   not_found; the row's state now, its turn; whether the memory is another than the one it was set aside on; how many turns
--   were committed since, the first of them; the receipts that its journal claims. Waits for the head's lock.
-- Indexes: the keys of threads, set_aside_turns, turn_journal, receipts, turns (by thread) and reconciliation_items.
create function redrive_turn_v1(
  thread text, aside_revision bigint, after_later boolean, look_only boolean, decision uuid, who text, why text)
returns table (
  outcome text, state text, turn_id text, is_rebased boolean, later_count bigint, later_turns text[], receipt_ids text[],
  effect_keys text[], receipt_states text[], contradictions boolean[])
language plpgsql as $$
#variable_conflict use_column
declare
  head threads;
  aside set_aside_turns;
  held record;
  later record;
  rebased boolean;
  word text;
begin
  select t.* into head from threads as t where t.thread_id = thread for no key update;
  select s.* into aside from set_aside_turns as s where s.thread_id = thread and s.revision = aside_revision;
  if aside.turn_id is null then
    return query select 'not_found', null::text, null::text, false, 0::bigint, '{}'::text[], '{}'::text[], '{}'::text[],
                        '{}'::text[], '{}'::boolean[];
    return;
  end if;
  select coalesce(array_agg(r.receipt_id order by r.effect_key), '{}') as ids,
         coalesce(array_agg(r.effect_key order by r.effect_key), '{}') as keys,
         coalesce(array_agg(r.state order by r.effect_key), '{}') as states,
         coalesce(array_agg(r.contradicted order by r.effect_key), '{}') as flags,
         coalesce(bool_or(r.state in ('prepared', 'uncertain') or r.contradicted), false) as are_open
    into held
  from (
    select distinct j.effect_key from turn_journal as j
    where j.thread_id = thread and j.turn_id = aside.turn_id and j.kind = 'claim'
  ) as c join receipts as r on r.thread_id = thread and r.effect_key = c.effect_key;
  -- A continuation that found nobody leaves the memory as it was, and is nobody's message.
  select count(*) as number, coalesce((array_agg(t.turn_id order by t.revision))[1:20], '{}') as names,
         coalesce(bool_or(not starts_with(t.turn_id, 'reconciliation:')), false) as are_messages
    into later
  from turns as t where t.thread_id = thread and t.revision > aside_revision;
  rebased := aside.base_digest is distinct from sha256(head.checkpoint);
  word := case
    when aside.state = 'redriven' and aside.decision_id = decision then 'redriven'
    when aside.state <> 'open' then 'not_open'
    when held.are_open then 'receipts'
    when (later.are_messages or rebased) and not after_later then 'later_turns'
    else 'write' end;
  if word = 'write' and not look_only then
    update set_aside_turns as s set state = 'redriven', decision_id = decision
    where s.thread_id = thread and s.turn_id = aside.turn_id and s.revision = aside_revision;
    perform close_orphaned_v1(thread, aside.turn_id, 'redriven');
    insert into outbox (shard, thread_id, topic, dedupe, record_count, value)
    select shard_of_v1(thread, i.shard_count), thread, 'turns.requests', 'redrive:' || aside_revision, 1, aside.record_value
    from installation as i;
    insert into audit_log (actor, action, thread_id, detail)
    values (who, 'redrive', thread, convert_to(json_build_object(
      'decisionId', decision, 'turnId', aside.turn_id, 'revision', aside_revision, 'reason', why, 'laterTurns', later.number,
      'receipts', held.ids)::text, 'UTF8'));
    aside.state := 'redriven';
  end if;
  return query select case word when 'write' then 'redriven' else word end, aside.state, aside.turn_id, rebased, later.number,
                      later.names, held.ids, held.keys, held.states, held.flags;
end $$;
