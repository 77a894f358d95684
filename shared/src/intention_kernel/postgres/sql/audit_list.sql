-- Purpose: audit lines, newest first.
-- Parameters: $1 actor, $2 action, $3 the line before which to begin (null: any), $4 how many at most.
-- Returns: lines. Index: audit_log's key, backwards; an actor or action that is rare reads far.
select id, at, actor, action, thread_id, effect_key, detail
from audit_log
where id < coalesce($3::bigint, 9223372036854775807) and ($1::text is null or actor = $1) and ($2::text is null or action = $2)
order by id desc
limit $4
