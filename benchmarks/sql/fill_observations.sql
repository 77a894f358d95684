-- What a resolver saw of receipts $1 to $2.
insert into observations (thread_id, effect_key, settlement, receipt_version, source, finding, detail, started_at)
select 'thread-' || n, 'bank.charge:order', 1, 2, 'lookup', 'inconclusive', 'the provider did not answer', now()
from generate_series($1::bigint, $2::bigint) as n
