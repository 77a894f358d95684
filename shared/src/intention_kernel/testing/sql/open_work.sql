-- Purpose: what an installation still has to do or will never do by itself; every count is 0 when nothing is stuck.
-- Parameters: thread ids and turn ids of the requests that must have an outcome, one element each.
-- Returns one row a kind of work: what it is, how much of it there is, and an example.
-- Indexes: none; it is asked of installations of a test or a demo.
select 'requests without an outcome' as what, count(*) as count, min(r.turn_id) as example
from unnest($1::text[], $2::text[]) as r (thread_id, turn_id)
where not exists (select from turns as t where t.thread_id = r.thread_id and t.turn_id = r.turn_id)
  and not exists (select from set_aside_turns as s where s.thread_id = r.thread_id and s.turn_id = r.turn_id)
  and not exists (select from rejected_requests as b where b.thread_id = r.thread_id and b.turn_id = r.turn_id)
union all
select 'turns in progress', count(*), min(turn_id) from threads where turn_id is not null
union all
select 'outbox rows', count(*), min(topic || ' ' || thread_id) from outbox
union all
select 'refused outbox rows', count(*), min(reason) from outbox_refused
union all
select 'unsettled receipts', count(*), min(effect_key || ' ' || state) from receipts
where state in ('prepared', 'uncertain') or contradicted
union all
select 'unfinished items', count(*), min(phase || ': ' || reason) from reconciliation_items
where phase in ('open', 'decided', 'failed')
union all
select 'blocked steps', count(*), min(effect_key) from blocked_steps
union all
select 'journal entries', count(*), min(turn_id || ' ' || entry) from turn_journal;
