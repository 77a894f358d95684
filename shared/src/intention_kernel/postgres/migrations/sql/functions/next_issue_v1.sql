-- Purpose: the issue number to ask for next (protocol R29-R31): the one asked for already, until its turn has a row or was
--   set aside; then the next. The caller has locked the thread's head.
-- Parameters: thread id, effect key, receipt id, settlement number.
-- Returns: a number from 1. Indexes: the keys of reconciliation_items, turns and set_aside_turns.
create function next_issue_v1(thread text, effect text, receipt text, settlement_number integer)
returns integer language sql stable as $$
  select asked.issue + (
    exists (select from turns as t where t.thread_id = thread and t.turn_id = asked.turn_id)
    or exists (select from set_aside_turns as s where s.thread_id = thread and s.turn_id = asked.turn_id))::integer
  from (
    select n.issue, 'reconciliation:' || receipt || ':' || settlement_number || ':' || n.issue as turn_id
    from (select coalesce((
      select i.issue from reconciliation_items as i
      where i.thread_id = thread and i.effect_key = effect and i.settlement = settlement_number and i.kind = 'effect'
    ), 1) as issue) as n
  ) as asked
$$;
