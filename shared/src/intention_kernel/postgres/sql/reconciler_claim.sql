-- Purpose: take open items that are due, each by one reconciler at a time: the claim pushes the next look forward.
-- Parameters: $1 how many at most, $2 seconds for which nobody else looks.
-- Returns: the receipts with what is known of their attempts, when the claim was made on the database's clock, the number
--   of the settlement to come and how many looks there were. A process's newer boot proves that an older one is dead only
--   where it started after the attempt was prepared (protocol R22 c).
-- Index: reconciliation_items_unfinished_idx; the keys of receipts and processes.
with due as (
  select thread_id, effect_key, settlement, kind
  from reconciliation_items
  where phase = 'open' and kind = 'effect' and next_look_at <= now()
  order by next_look_at
  limit $1
  for no key update skip locked
), taken as (
  update reconciliation_items as i
  set next_look_at = clock_timestamp() + make_interval(secs => $2)
  from due
  where i.thread_id = due.thread_id and i.effect_key = due.effect_key and i.settlement = due.settlement
    and i.kind = due.kind
  returning i.thread_id, i.effect_key, i.settlement, i.looks
)
select r.*, taken.settlement, taken.looks, clock_timestamp() as looked_at,
       case when p.boot = r.boot then p.stopped_at when p.started_at >= r.prepared_at then p.started_at end as died_at
from taken
join receipts as r on r.thread_id = taken.thread_id and r.effect_key = taken.effect_key
left join processes as p on p.instance = r.instance
