-- Purpose: begin turns (protocol R1, R2, R4, R6-R8): lock the heads, then, on fresh rows, decide and take the leases.
-- Parameters, one element a row, at most one row a thread: thread, turn, digest, nonce, agent, tenant; the fingerprints
--   that the build accepts, joined by commas (null: any); its schema revision; how many attempts may begin; seconds of
--   the lease. And whether to wait for heads that are locked elsewhere.
-- Returns one row each: its ordinal and an outcome of R7 (exhausted is begun with no attempt left). With begun, exhausted:
--   all up to tenant, and the journal as arrays side by side; with replayed: result and revision; with held: fingerprint and
--   schema revision; with set_aside: reason.
-- Indexes: the keys of threads, turns, turn_journal and set_aside_turns.
create function begin_turns_v1(
  thread_ids text[], turn_ids text[], digests bytea[], nonces uuid[], agent_ids text[], tenant_ids text[],
  accepted text[], schema_revisions integer[], attempts_limits integer[], lease_seconds double precision[], wait boolean)
returns table (
  ord bigint, outcome text, fence bigint, attempt integer, crashes integer, revision bigint, next_sequence bigint,
  incarnation text, checkpoint bytea, agent_id text, tenant_id text, result bytea, fingerprint text,
  schema_revision integer, reason text, requested_at_ms bigint, entries text[], kinds text[], effect_keys text[],
  outcomes text[], request_digests bytea[], bodies bytea[])
language plpgsql as $$
#variable_conflict use_column
declare
  -- Above every fence of a database that was lost, whose holders may still be about (R39).
  first_fence bigint := (select i.recoveries::bigint << 40 from installation as i where i.only_row);
  locked text[];
begin
  insert into threads (thread_id) select th from unnest(thread_ids) as w (th)
  where (select true from threads as t where t.thread_id = th) is null order by th collate "C" on conflict do nothing;
  locked := lock_heads_v1(thread_ids, wait);
  -- A statement of its own, so that it sees what those did whom the locks waited for (R2).
  return query
  with asked as (
    select * from unnest(thread_ids, turn_ids, digests, nonces, agent_ids, tenant_ids, accepted, schema_revisions,
                         attempts_limits, lease_seconds)
      with ordinality as a (th, tu, dig, nonce, agent, tenant, accepts, build, tries, secs, ord)
  ), seen as (
    select a.*, t.thread_id is not null as is_locked, t.state, t.turn_id as busy_turn, t.turn_digest as busy_digest,
           t.agent_id as head_agent, t.tenant_id as head_tenant, t.fingerprint as head_fingerprint,
           t.schema_revision as head_build,
           t.lease_nonce is not null and t.lease_until > clock_timestamp() as is_leased,
           t.lease_nonce is not distinct from a.nonce and t.turn_id is not distinct from a.tu as is_mine,
           t.lease_nonce is not null as is_unreleased,
           u.digest as done_digest, u.result as done_result, u.revision as done_revision,
           s.digest as aside_digest, s.reason as aside_reason, s.state as aside_state,
           -- A redriven turn that begins on another memory than it was set aside on; the digest is dear (R33).
           case when s.state = 'redriven' and t.turn_id is distinct from a.tu
             then s.base_digest is distinct from sha256(t.checkpoint) else false end as is_rebased
    from asked as a
    left join threads as t on t.thread_id = a.th and a.th = any (locked)
    left join turns as u on u.thread_id = a.th and u.turn_id = a.tu
    left join lateral (
      -- as a join it would be planned, on an empty table, to read the whole index
      select o.digest, o.reason, o.state, o.base_digest from set_aside_turns as o
      where o.thread_id = a.th and o.turn_id = a.tu order by o.revision desc limit 1
    ) as s on true
  ), decided as (
    select s.*, case
      when not s.is_locked then 'contended'
      when s.state = 'deleted' then 'deleted'
      when s.done_digest = s.dig then 'replayed'
      when s.done_digest is not null then 'conflict'
      when s.aside_digest <> s.dig then 'conflict'
      when s.aside_state <> 'redriven' then 'set_aside'
      when s.busy_turn = s.tu and s.busy_digest <> s.dig then 'conflict'
      when s.is_leased and not s.is_mine then 'busy'
      when s.accepts is not null and s.head_fingerprint is not null and s.head_agent = s.agent
        and s.head_tenant is not distinct from s.tenant
        and (s.head_build is distinct from s.build or s.head_fingerprint <> all (string_to_array(s.accepts, ',')))
        then 'held'
      else 'begun' end as oc
    from seen as s
  ), taken as (
    -- The same nonce takes again what it has; a lease that is over is never revived, not even by its own nonce (R3).
    update threads as t set
      fence = case when d.is_mine and d.is_leased then t.fence else greatest(t.fence, first_fence) + 1 end,
      lease_nonce = d.nonce,
      lease_until = clock_timestamp() + make_interval(secs => d.secs),
      turn_id = d.tu,
      turn_digest = d.dig,
      attempts = case when t.turn_id is distinct from d.tu then 1 else t.attempts + (not d.is_mine)::integer end,
      crashes = case when t.turn_id is distinct from d.tu then 0
                     else t.crashes + (d.is_unreleased and not d.is_mine)::integer end
    from decided as d
    where t.thread_id = d.th and d.oc = 'begun'
    returning d.ord, d.tries, d.is_rebased, t.*
  ), thinned as (
    -- What was recorded on another memory is not replayed on this one. Claims stay: what they name has to be met (R15, R33).
    delete from turn_journal as j using taken as k
    where k.is_rebased and j.thread_id = k.thread_id and j.turn_id = k.turn_id and j.kind <> 'claim'
  )
  select k.ord, case when k.attempts > k.tries then 'exhausted' else 'begun' end, k.fence, k.attempts, k.crashes,
         k.revision, k.next_sequence, n.incarnation, k.checkpoint, k.agent_id, k.tenant_id, null::bytea, null, null::integer,
         null, j.requested_at_ms, j.entries, j.kinds, j.effect_keys, j.outcomes, j.request_digests, j.bodies
  from taken as k
  cross join installation as n
  cross join lateral (
    select min(e.requested_at_ms) as requested_at_ms, array_agg(e.entry order by e.position) as entries,
           array_agg(e.kind order by e.position) as kinds, array_agg(e.effect_key order by e.position) as effect_keys,
           array_agg(e.outcome order by e.position) as outcomes, array_agg(e.request_digest order by e.position) as request_digests,
           array_agg(e.body order by e.position) as bodies
    from turn_journal as e
    where e.thread_id = k.thread_id and e.turn_id = k.turn_id and (e.kind = 'claim' or not k.is_rebased)
  ) as j
  union all
  select d.ord, d.oc, null, null, null, d.done_revision, null, null, null, null, null,
         case when d.oc = 'replayed' then d.done_result end, d.head_fingerprint, d.head_build, d.aside_reason,
         null, null, null, null, null, null, null
  from decided as d where d.oc <> 'begun';
end $$;
