-- Who waits for the open receipts $1 to $2, as many as their items say.
insert into blocked_steps (thread_id, effect_key, turn_id, revision)
select 'thread-' || n, 'bank.charge:order', 'turn-' || turn, 1
from generate_series($1::bigint, $2::bigint) as n, generate_series(1, n % 4) as turn
