-- The items of receipts $1 to $2: open ones in every place of the order, or done ones.
insert into reconciliation_items (
  thread_id, effect_key, settlement, phase, reason, opened_at, closed_at, next_look_at, looks, contradicted, waiting, key_closes_at, turn_id)
select 'thread-' || n, 'bank.charge:order', 1, $3, 'needs a person: the provider did not answer', now() - n * 37 % 100000 * interval '1 second',
  case when $3 = 'done' then now() end, 'infinity', 6, $3 = 'open' and n % 1000 = 0, case when $3 = 'open' then n % 4 else 0 end,
  case when n % 2 = 0 then now() + n * 53 % 90000 * interval '1 second' else 'infinity' end,
  case when $3 = 'done' then 'reconciliation:' || n end
from generate_series($1::bigint, $2::bigint) as n
