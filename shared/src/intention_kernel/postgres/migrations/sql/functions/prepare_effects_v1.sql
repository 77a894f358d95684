-- Purpose: prepare attempts (protocol R3, R14, R15, R20, R39): lock the heads, require fence and live lease and renew it, then
--   decide on the receipts and append the journal of those that may call.
-- Parameters, one element a row, at most one row a thread: thread, turn, key, receipt id, effect id, fingerprint, payload,
--   host context, title, provider, amount, currency, fence, attempt id, agent, tenant, seconds of the lease and of the call,
--   certificate (deduplicates, window), twins, instance, boot, request time, whether a lost database may have had the attempt already. Journal entries, one element each: ordinal of
--   their row, entry, kind, key, outcome, request digest, body. And whether to wait for what is locked elsewhere.
-- Returns one row each: its ordinal and prepared | taken | completed | uncertain | failed | fenced | contended; attempt and
--   version; the value where completed; receipt id and key, a twin's where that is what is uncertain.
-- Indexes: the keys of threads, receipts and turn_journal; receipts_open_idx.
create function prepare_effects_v1(
  thread_ids text[], turn_ids text[], keys text[], receipt_ids text[], effect_ids text[], fingerprints bytea[],
  payloads bytea[], host_contexts bytea[], titles text[], providers text[], amounts numeric[], currencies text[],
  fences bigint[], attempt_ids uuid[], agent_ids text[], tenant_ids text[], lease_seconds double precision[],
  call_seconds double precision[], certificates boolean[], windows double precision[], twins_allowed boolean[],
  instances text[], boots uuid[], request_times bigint[], restored boolean[],
  entry_ords bigint[], entries text[], entry_kinds text[], entry_keys text[], entry_outcomes text[], entry_digests bytea[],
  entry_bodies bytea[], wait boolean)
returns table (ord bigint, outcome text, attempt integer, version bigint, value bytea, receipt_id text, effect_key text)
language plpgsql as $$
#variable_conflict use_column
declare
  locked text[];
  alive text[];
  held text[];
  verdicts text[];
  was_attempts integer[];
  was_versions bigint[];
  known_values bytea[];
  open_ids text[];
  open_keys text[];
  dead_threads text[];
  dead_keys text[];
  restoring boolean[];
  recoveries_now integer := (select i.recoveries from installation as i where i.only_row);
begin
  locked := lock_heads_v1(thread_ids, wait);
  with renewed as (
    update threads as t set lease_until = clock_timestamp() + make_interval(secs => a.secs)
    from unnest(thread_ids, fences, lease_seconds) as a (th, fe, secs)
    where t.thread_id = a.th and a.th = any (locked) and t.fence = a.fe and t.lease_nonce is not null
      and t.lease_until > clock_timestamp()
    returning t.thread_id
  ) select coalesce(array_agg(thread_id), '{}') into alive from renewed;
  -- Twins that an attempt which is over left prepared are moved below, so they are locked in the one order, too (R9).
  select coalesce(array_agg(o.thread_id), '{}'), coalesce(array_agg(o.effect_key), '{}') into dead_threads, dead_keys
  from unnest(thread_ids, keys, effect_ids, fingerprints, fences, twins_allowed) as a (th, ky, eid, fp, fe, twins)
  cross join lateral (
    select r.thread_id, r.effect_key from receipts as r
    where not a.twins and r.thread_id = a.th and (r.state in ('prepared', 'uncertain') or r.contradicted)
      and r.state = 'prepared' and r.fence <> a.fe and r.effect_id = a.eid and r.fingerprint = a.fp and r.effect_key <> a.ky
    offset 0  -- stays a look-up by thread for each row
  ) as o;
  held := lock_receipts_v1(thread_ids || dead_threads, keys || dead_keys, wait);

  -- first and again may call, and mine is a repeat of this very call; found is prepared by an attempt that is over.
  select array_agg(d.verdict), array_agg(d.attempt), array_agg(d.version),
         array_agg(case when d.verdict = 'completed' then d.value end), array_agg(d.twin_id), array_agg(d.twin_key),
         array_agg(d.is_restored and (d.verdict = 'first' or d.verdict = 'again' and d.recovery < recoveries_now))
    into verdicts, was_attempts, was_versions, known_values, open_ids, open_keys, restoring
  from (
    select case
        when (a.th <> all (locked) and (select true from threads as h where h.thread_id = a.th))
          or (r.receipt_id is not null and r.receipt_id <> all (held)) then 'contended'
        when a.th <> all (alive) then 'fenced'
        when r.fingerprint <> a.fp then 'taken'
        when r.state = 'completed' and not r.contradicted then 'completed'
        when r.state = 'failed' and not r.contradicted and r.attempt_id = a.aid then 'failed'
        when r.state = 'prepared' and not r.contradicted and r.attempt_id = a.aid then 'mine'
        when r.state = 'prepared' and r.attempt_id <> a.aid then 'found'
        when r.state = 'uncertain' or r.contradicted then 'uncertain'
        when w.is_dead and w.receipt_id <> all (held) then 'contended'
        when w.receipt_id is not null then 'twin'
        when r.state = 'failed' then 'again'
        else 'first' end as verdict,
      r.attempt, r.version, r.value, r.recovery, w.receipt_id as twin_id, w.effect_key as twin_key, a.is_restored
    from unnest(thread_ids, keys, effect_ids, fingerprints, attempt_ids, fences, twins_allowed, restored) with ordinality
      as a (th, ky, eid, fp, aid, fe, twins, is_restored, ord)
    left join receipts as r on r.thread_id = a.th and r.effect_key = a.ky
    left join lateral (
      select o.receipt_id, o.effect_key, o.state = 'prepared' and o.fence <> a.fe as is_dead from receipts as o
      where not a.twins and o.thread_id = a.th and (o.state in ('prepared', 'uncertain') or o.contradicted)
        and o.effect_id = a.eid and o.fingerprint = a.fp and o.effect_key <> a.ky
      order by o.effect_key limit 1
    ) as w on true
    order by a.ord
  ) as d;

  insert into receipts (
    thread_id, effect_key, receipt_id, effect_id, turn_id, agent_id, tenant_id, state, attempt, attempt_id, fence,
    fingerprint, payload, host_context, title, provider, amount, currency, deduplicates, key_window_seconds,
    call_deadline, instance, boot, recovery, cause)
  select a.th, a.ky, a.rid, a.eid, a.tu, a.agent, a.tenant, 'prepared', 1, a.aid, a.fe, a.fp, a.payload, a.context, a.title,
         a.provider, a.amount, a.currency, a.certificate, a.win, clock_timestamp() + make_interval(secs => a.secs),
         a.inst, a.boot, recoveries_now, 'prepare'
  from unnest(
    thread_ids, keys, receipt_ids, effect_ids, turn_ids, agent_ids, tenant_ids, attempt_ids, fences, fingerprints, payloads,
    host_contexts, titles, providers, amounts, currencies, certificates, windows, call_seconds, instances, boots)
    with ordinality as a (th, ky, rid, eid, tu, agent, tenant, aid, fe, fp, payload, context, title, provider, amount,
                          currency, certificate, win, secs, inst, boot, ord)
  where verdicts[a.ord] = 'first';

  if 'again' = any (verdicts) then
    -- The certificate stays as the first prepare pinned it (R26).
    update receipts as r set
      state = 'prepared', attempt = r.attempt + 1, attempt_id = a.aid, fence = a.fe, turn_id = a.tu,
      host_context = a.context, value = null, reference = null, returned_at = null, prepared_at = clock_timestamp(),
      call_deadline = clock_timestamp() + make_interval(secs => a.secs), instance = a.inst, boot = a.boot,
      recovery = recoveries_now, version = r.version + 1, cause = 'prepare'
    from unnest(thread_ids, keys, attempt_ids, fences, turn_ids, host_contexts, call_seconds, instances, boots)
      with ordinality as a (th, ky, aid, fe, tu, context, secs, inst, boot, ord)
    where r.thread_id = a.th and r.effect_key = a.ky and verdicts[a.ord] = 'again';
  end if;
  if true = any (restoring) then
    -- Nobody is called: what it did there is for the resolvers. Its window counts from the request, and it has ended (R22, R26).
    update receipts as r set state = 'uncertain', version = r.version + 1, cause = 'restore',
      first_prepared_at = least(r.first_prepared_at, to_timestamp(a.asked_ms / 1000.0)), returned_at = clock_timestamp()
    from unnest(thread_ids, keys, request_times) with ordinality as a (th, ky, asked_ms, ord)
    where r.thread_id = a.th and r.effect_key = a.ky and restoring[a.ord];
  end if;
  if 'found' = any (verdicts) then
    update receipts as r set state = 'uncertain', version = r.version + 1, cause = 'found_prepared'
    from unnest(thread_ids, keys) with ordinality as a (th, ky, ord)
    where r.thread_id = a.th and r.effect_key = a.ky and verdicts[a.ord] = 'found';
  end if;

  if 'twin' = any (verdicts) then
    -- A twin whose attempt is over becomes uncertain, as the key itself would: its late answer has to be a settlement.
    update receipts as r set state = 'uncertain', version = r.version + 1, cause = 'found_prepared'
    from unnest(thread_ids, open_keys, fences) with ordinality as a (th, ky, fe, ord)
    where r.thread_id = a.th and r.effect_key = a.ky and verdicts[a.ord] = 'twin'
      and r.state = 'prepared' and r.fence <> a.fe;
  end if;

  insert into turn_journal (thread_id, turn_id, entry, kind, effect_key, outcome, request_digest, body, requested_at_ms)
  select thread_ids[e.ord], turn_ids[e.ord], e.entry, e.kind, e.ky, e.outcome, e.digest, e.body, request_times[e.ord]
  from unnest(entry_ords, entries, entry_kinds, entry_keys, entry_outcomes, entry_digests, entry_bodies)
    as e (ord, entry, kind, ky, outcome, digest, body)
  where verdicts[e.ord] in ('first', 'again', 'mine')
  on conflict (thread_id, turn_id, entry) do nothing;

  return query
  select a.ord,
         case when restoring[a.ord] then 'uncertain'
              when a.verdict in ('first', 'again', 'mine') then 'prepared'
              when a.verdict in ('found', 'twin') then 'uncertain' else a.verdict end,
         case a.verdict when 'first' then 1 when 'again' then a.was_attempt + 1 else a.was_attempt end,
         case a.verdict when 'first' then 1 when 'again' then a.was_version + 1 else a.was_version end,
         a.value,
         case a.verdict when 'twin' then a.open_id else a.rid end,
         case a.verdict when 'twin' then a.open_key else a.ky end
  from unnest(verdicts, was_attempts, was_versions, known_values, open_ids, open_keys, receipt_ids, keys) with ordinality
    as a (verdict, was_attempt, was_version, value, open_id, open_key, rid, ky, ord);
end $$;
