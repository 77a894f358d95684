-- Purpose: a page of what was rejected or set aside, newest first.
-- Parameters: $1 how many at most; $2, $3 time and place of the last line of the page before (null: from the newest on);
--   $4 tenants (null: all). A rejected record is of no known tenant, nor is a turn that was set aside before its thread was
--   anybody's.
-- Returns: a row each; kind rejected | set_aside, what its id is made of, and its place among those of one moment.
-- Indexes: rejected_requests_at_idx, set_aside_turns_at_idx, backwards from the time; threads' key.
select * from (
  select * from (
    select 'rejected' as kind, origin_topic, origin_partition, origin_offset, encode(digest, 'hex') as digest, thread_id,
           turn_id, null::bigint as revision, state, reason, detail, at,
           concat_ws('/', origin_topic, origin_partition, origin_offset, encode(digest, 'hex')) collate "C" as place
    from rejected_requests where at <= coalesce($2::timestamptz, 'infinity') and $4::text[] is null
  ) as rejected where at < coalesce($2, 'infinity') or place < $3::text order by at desc fetch first ($1::integer) rows with ties
) as all_rejected
union all
select * from (
  select * from (
    select 'set_aside', s.origin_topic, s.origin_partition, s.origin_offset, encode(s.digest, 'hex'), s.thread_id, s.turn_id,
           s.revision, s.state, s.reason, s.detail, s.at, concat_ws('@', s.thread_id, s.revision) collate "C" as place
    from set_aside_turns as s left join threads as t on t.thread_id = s.thread_id
    where s.at <= coalesce($2::timestamptz, 'infinity')
      and ($4::text[] is null or s.base_digest is not null and t.tenant_id = any($4))
  ) as set_aside where at < coalesce($2, 'infinity') or place < $3::text order by at desc fetch first ($1::integer) rows with ties
) as all_set_aside
order by at desc, place desc limit $1
