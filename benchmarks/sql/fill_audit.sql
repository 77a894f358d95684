-- The audit lines of settled receipts $1 to $2.
insert into audit_log (actor, action, thread_id, effect_key, detail)
select 'ana', 'settle', 'thread-' || n, 'bank.charge:order', '{"resolution":"applied"}' from generate_series($1::bigint, $2::bigint) as n
