-- Purpose: decided items own their continuation (protocol R31): done once its turn is committed; the next issue where it was
--   set aside; the same id published again where it got lost on the way. An item whose continuations are all set aside fails.
-- Parameters: how many items at most; seconds to the first look (doubling from there), after which the same id is published
--   again, and between looks at most; how many issues may be set aside.
-- Returns one row: how many items are done, got the next issue, were published again, failed.
-- Indexes: reconciliation_items_unfinished_idx; the keys of turns, set_aside_turns and outbox (thread_id, topic, dedupe).
create function care_for_continuations_v1(
  most integer, first_seconds double precision, again_seconds double precision, longest_seconds double precision,
  most_issues integer)
returns table (done integer, reissued integer, republished integer, failed integer) language plpgsql as $$
#variable_conflict use_column
declare
  item reconciliation_items;
  given_up text;
  counts integer[] := '{0,0,0,0}';
begin
  for item in
    select i.* from reconciliation_items as i
    where i.phase = 'decided' and i.kind = 'effect' and i.next_look_at <= now()
    order by i.next_look_at limit most for no key update skip locked
  loop
    select s.state into given_up from set_aside_turns as s
    where s.thread_id = item.thread_id and s.turn_id = item.turn_id order by s.revision desc limit 1;
    if exists (select from turns as t where t.thread_id = item.thread_id and t.turn_id = item.turn_id) then
      update reconciliation_items as i set phase = 'done', closed_at = clock_timestamp()
      where (i.thread_id, i.effect_key, i.settlement, i.kind) = (item.thread_id, item.effect_key, item.settlement, item.kind);
      counts[1] := counts[1] + 1;
      continue;
    elsif given_up in ('open', 'dropped') and item.issue >= most_issues then
      update reconciliation_items as i set phase = 'failed', closed_at = clock_timestamp(),
        reason = 'its continuation was set aside ' || item.issue || ' times'
      where (i.thread_id, i.effect_key, i.settlement, i.kind) = (item.thread_id, item.effect_key, item.settlement, item.kind);
      counts[4] := counts[4] + 1;
      continue;
    elsif given_up in ('open', 'dropped') then
      perform ask_continuation_v1(item.thread_id, item.effect_key, item.settlement, item.issue + 1);
      counts[2] := counts[2] + 1;
    elsif given_up is null and first_seconds * (power(2, least(item.looks, 20)) - 1) >= again_seconds and not exists (
        select from outbox as o
        where o.thread_id = item.thread_id and o.topic = 'turns.requests' and o.dedupe = item.turn_id) then
      perform ask_continuation_v1(item.thread_id, item.effect_key, item.settlement, item.issue);
      counts[3] := counts[3] + 1;
    end if;
    update reconciliation_items as i set looks = i.looks + 1, next_look_at = clock_timestamp() + make_interval(
      secs => least(first_seconds * power(2, least(i.looks, 20)), longest_seconds) * (0.75 + random() / 2))
    where (i.thread_id, i.effect_key, i.settlement, i.kind) = (item.thread_id, item.effect_key, item.settlement, item.kind);
  end loop;
  return query select counts[1], counts[2], counts[3], counts[4];
end $$;
