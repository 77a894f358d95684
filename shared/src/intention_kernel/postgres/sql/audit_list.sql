-- Purpose: audit lines, newest first.
-- Parameters: $1 actor, $2 action, $3 the line before which to begin (null: any), $4 how many at most; $5 tenants and $6 effects
--   whose receipts' lines are within reach (both null: every line), $7 whether lines of what belongs to no conversation are asked for.
-- Returns: lines. Indexes: audit_log's key, backwards, and receipts' key; an actor, an action or a reach that is rare reads far.
select id, at, actor, action, thread_id, effect_key, detail
from audit_log as a
where id < coalesce($3::bigint, 9223372036854775807) and ($1::text is null or actor = $1) and ($2::text is null or action = $2)
  and ($7 or thread_id is not null)
  -- A value, and not `exists`: that one may be answered by reading all receipts into a table.
  and (($5::text[] is null and $6::text[] is null) or coalesce((
    select ($5 is null or r.tenant_id = any ($5)) and ($6 is null or r.effect_id = any ($6))
    from receipts as r where r.thread_id = a.thread_id and r.effect_key = a.effect_key), false))
order by id desc
limit $4
