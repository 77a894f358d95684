-- What the trigger would have appended for receipts $1 to $2, of which the last move came to $3.
insert into receipt_transitions (thread_id, effect_key, version, from_state, state, attempt, contradicted, settlements, cause, at)
select 'thread-' || n, 'bank.charge:order', move.version, move.from_state, move.state, 1, false, move.settlements, move.cause,
  now() - n * interval '1 second' + move.version * interval '10 s'
from generate_series($1::bigint, $2::bigint) as n, (values
  (1, null, 'prepared', 0, 'prepare'), (2, 'prepared', 'uncertain', 0, 'scan'), (3, 'uncertain', 'completed', 1, 'settle')
) as move (version, from_state, state, settlements, cause)
where move.version < 3 or $3 = 'completed'
