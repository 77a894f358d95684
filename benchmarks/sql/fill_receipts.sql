-- Receipts $1 to $2 in state $3, as runners and reconcilers leave them: packed bytes, ids derived as in interface 2.
insert into receipts (
  thread_id, effect_key, receipt_id, effect_id, turn_id, agent_id, tenant_id, state, attempt, attempt_id, fence, fingerprint,
  payload, host_context, value, reference, contradicted, settlements, version, title, provider, amount, currency, deduplicates,
  key_window_seconds, first_prepared_at, prepared_at, call_deadline, returned_at, instance, boot, cause)
select
  'thread-' || n, 'bank.charge:order', left(encode(sha256(convert_to('thread-' || n, 'UTF8') || '\x00'::bytea || 'bank.charge:order'), 'hex'), 32),
  'bank.charge-' || n % 20, 'turn-1', 'agent-' || n % 3, 'tenant-' || n % 50, $3, 1, gen_random_uuid(), 1, '\x00'::bytea || sha256(n::text::bytea),
  $4, '\x006e756c6c'::bytea, case when $3 = 'completed' then $5::bytea end, case when $3 = 'completed' then 'ref-' || n end,
  $3 = 'uncertain' and n % 1000 = 0, case when $3 = 'completed' then 1 else 0 end, case when $3 = 'completed' then 3 else 2 end,
  'Charge order ' || n || ' of the shop', 'provider-' || n % 5, n % 1000, 'EUR', n % 2 = 0, case when n % 2 = 0 then 86400 end,
  now() - n * interval '1 second', now() - n * interval '1 second', now() - n * interval '1 second' + interval '30 s',
  null, 'runner-1', gen_random_uuid(), case when $3 = 'completed' then 'settle' else 'scan' end
from generate_series($1::bigint, $2::bigint) as n
