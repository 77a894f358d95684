-- Purpose: prepare attempts (protocol R3, R14, R15, R20): lock the heads, require fence and live lease and renew it, then
--   decide on the receipts and append the journal of those that may call.
-- Parameters, one element a row, at most one row a thread: thread, turn, key, receipt id, effect id, fingerprint, payload,
--   host context, title, provider, amount, currency, fence, attempt id, agent, tenant, seconds of the lease and of the call,
--   certificate (deduplicates, window), twins, instance, boot, request time. Journal entries, one element each: ordinal of
--   their row, entry, kind, key, outcome, request digest, body. And whether to wait for what is locked elsewhere.
-- Returns one row each: its ordinal and prepared | taken | completed | uncertain | failed | fenced | contended; attempt and
--   version; the value where completed; receipt id and key, a twin's where that is what is uncertain.
-- Indexes: the keys of threads, receipts and turn_journal; receipts_open_idx.
create function prepare_effects_v1(
  thread_ids text[], turn_ids text[], keys text[], receipt_ids text[], effect_ids text[], fingerprints bytea[],
  payloads bytea[], host_contexts bytea[], titles text[], providers text[], amounts numeric[], currencies text[],
  fences bigint[], attempt_ids uuid[], agent_ids text[], tenant_ids text[], lease_seconds double precision[],
  call_seconds double precision[], certificates boolean[], windows double precision[], twins_allowed boolean[],
  instances text[], boots uuid[], request_times bigint[],
  entry_ords bigint[], entries text[], entry_kinds text[], entry_keys text[], entry_outcomes text[], entry_digests bytea[],
  entry_bodies bytea[], wait boolean)
returns table (ord bigint, outcome text, attempt integer, version bigint, value bytea, receipt_id text, effect_key text)
language plpgsql as $$
#variable_conflict use_column
declare
  locked text[];
  alive text[];
  held text[];
begin
  locked := lock_heads_v1(thread_ids, wait);
  with renewed as (
    update threads as t set lease_until = clock_timestamp() + make_interval(secs => a.secs)
    from unnest(thread_ids, fences, lease_seconds) as a (th, fe, secs)
    where t.thread_id = a.th and a.th = any (locked) and t.fence = a.fe and t.lease_nonce is not null
      and t.lease_until > clock_timestamp()
    returning t.thread_id
  ) select coalesce(array_agg(thread_id), '{}') into alive from renewed;
  held := lock_receipts_v1(thread_ids, keys, wait);
  return query
  with asked as (
    select * from unnest(
      thread_ids, turn_ids, keys, receipt_ids, effect_ids, fingerprints, payloads, host_contexts, titles, providers,
      amounts, currencies, fences, attempt_ids, agent_ids, tenant_ids, call_seconds, certificates, windows,
      twins_allowed, instances, boots, request_times)
      with ordinality as a (th, tu, ky, rid, eid, fp, payload, context, title, provider, amount, currency, fe, aid, agent,
                            tenant, secs, certificate, win, twins, inst, boot, asked_ms, ord)
  ), seen as (
    select a.*, r.state, r.attempt as was_attempt, r.attempt_id as was_id, r.fingerprint as was_fp, r.contradicted,
           r.value as was_value, r.version as was_version, t.receipt_id as twin_id, t.effect_key as twin_key,
           a.th = any (alive) as is_alive,
           (a.th <> all (locked) and exists (select from threads as h where h.thread_id = a.th))
             or (r.receipt_id is not null and r.receipt_id <> all (held)) as is_contended
    from asked as a
    left join receipts as r on r.thread_id = a.th and r.effect_key = a.ky
    left join lateral (
      select o.receipt_id, o.effect_key from receipts as o
      where not a.twins and o.thread_id = a.th and (o.state in ('prepared', 'uncertain') or o.contradicted)
        and o.effect_id = a.eid and o.fingerprint = a.fp and o.effect_key <> a.ky
      order by o.effect_key limit 1
    ) as t on true
  ), decided as (
    select s.*, case
      when s.is_contended then 'contended'
      when not s.is_alive then 'fenced'
      when s.was_fp <> s.fp then 'taken'
      when s.contradicted then 'uncertain'
      when s.state = 'completed' then 'completed'
      when s.state = 'uncertain' then 'uncertain'
      when s.state = 'prepared' and s.was_id = s.aid then 'prepared'
      when s.state = 'prepared' then 'uncertain'
      when s.state = 'failed' and s.was_id = s.aid then 'failed'
      when s.twin_id is not null then 'twin'
      when s.state = 'failed' then 'again'
      else 'first' end as oc
    from seen as s
  ), first_time as (
    insert into receipts (
      thread_id, effect_key, receipt_id, effect_id, turn_id, agent_id, tenant_id, state, attempt, attempt_id, fence,
      fingerprint, payload, host_context, title, provider, amount, currency, deduplicates, key_window_seconds,
      call_deadline, instance, boot, cause)
    select th, ky, rid, eid, tu, agent, tenant, 'prepared', 1, aid, fe, fp, payload, context, title, provider, amount,
           currency, certificate, win, clock_timestamp() + make_interval(secs => secs), inst, boot, 'prepare'
    from decided where oc = 'first'
  ), once_more as (
    -- The certificate stays as the first prepare pinned it (R26).
    update receipts as r set
      state = 'prepared', attempt = r.attempt + 1, attempt_id = d.aid, fence = d.fe, turn_id = d.tu,
      host_context = d.context, value = null, reference = null, returned_at = null, prepared_at = clock_timestamp(),
      call_deadline = clock_timestamp() + make_interval(secs => d.secs), instance = d.inst, boot = d.boot,
      version = r.version + 1, cause = 'prepare'
    from decided as d where r.thread_id = d.th and r.effect_key = d.ky and d.oc = 'again'
  ), found_prepared as (
    update receipts as r set state = 'uncertain', version = r.version + 1, cause = 'found_prepared'
    from decided as d
    where r.thread_id = d.th and r.effect_key = d.ky and d.oc = 'uncertain' and d.state = 'prepared' and d.was_id <> d.aid
  ), journalled as (
    insert into turn_journal (thread_id, turn_id, entry, kind, effect_key, outcome, request_digest, body, requested_at_ms)
    select d.th, d.tu, e.entry, e.kind, e.ky, e.outcome, e.digest, e.body, d.asked_ms
    from unnest(entry_ords, entries, entry_kinds, entry_keys, entry_outcomes, entry_digests, entry_bodies)
      as e (ord, entry, kind, ky, outcome, digest, body)
    join decided as d on d.ord = e.ord and d.oc in ('first', 'again', 'prepared')
    on conflict (thread_id, turn_id, entry) do nothing
  )
  select d.ord,
         case d.oc when 'first' then 'prepared' when 'again' then 'prepared' when 'twin' then 'uncertain' else d.oc end,
         case d.oc when 'first' then 1 when 'again' then d.was_attempt + 1 else d.was_attempt end,
         case d.oc when 'first' then 1 when 'again' then d.was_version + 1 else d.was_version end,
         case d.oc when 'completed' then d.was_value end,
         case d.oc when 'twin' then d.twin_id else d.rid end,
         case d.oc when 'twin' then d.twin_key else d.ky end
  from decided as d;
end $$;
