-- The decisions of settled receipts $1 to $2.
insert into decisions (decision_id, thread_id, effect_key, settlement, resolution, value, reference, reason, actor)
select 'decision-' || n, 'thread-' || n, 'bank.charge:order', 1, 'applied', $3, 'ref-' || n, 'it is in the list', 'ana'
from generate_series($1::bigint, $2::bigint) as n
