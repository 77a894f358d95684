-- Purpose: commit turns (protocol 9): under the head locks check fence, revision, sequence and claims, then write the head,
--   the turn, its events' outbox row, and what it leaves waiting. Whether the lease is over is not asked.
-- Parameters, one element a row, at most one row a thread: thread, turn, digest, fence, revision, next sequence, agent,
--   tenant, fingerprint, schema revision, checkpoint, request, request time, result, status, events, count of events; for a
--   continuation its key and the turn it resumed, else null; the keys it claims, joined by U+001F, which no key has. Blocked
--   steps, one element each: ordinal of their row, key, turn. Last journal entries, one element each: ordinal of their row,
--   entry, kind, key, outcome, request digest, body. And whether to wait for what is locked elsewhere.
-- Returns one row each: its ordinal and committed (also: mine already) | replayed | fenced | resequence | unclaimed |
--   contended; the revision; the sequence to number from; the stored result where replayed; the unclaimed keys.
-- Indexes: the keys of threads, turns, turn_journal, blocked_steps, receipts; receipts_receipt_id_uq.
-- A subquery that asks whether a row is there is a scalar one throughout: as exists() it may be planned as a hash of the whole
-- table, and that plan would stay.
create function commit_turns_v1(
  thread_ids text[], turn_ids text[], digests bytea[], fences bigint[], revisions bigint[], sequences bigint[],
  agent_ids text[], tenant_ids text[], fingerprints text[], schema_revisions integer[], checkpoints bytea[],
  requests bytea[], request_times bigint[], results bytea[], statuses text[], event_blocks bytea[], event_counts integer[],
  settled_keys text[], resumed_turns text[], claims text[],
  blocked_ords bigint[], blocked_keys text[], blocked_turns text[],
  entry_ords bigint[], entries text[], entry_kinds text[], entry_keys text[], entry_outcomes text[], entry_digests bytea[],
  entry_bodies bytea[], wait boolean)
returns table (ord bigint, outcome text, revision bigint, next_sequence bigint, result bytea, keys text[])
language plpgsql as $$
#variable_conflict use_column
declare
  locked text[];
  wanted_threads text[];
  wanted_keys text[];
  wanted_ids text[];
  held text[] := '{}';
  verdicts text[];
begin
  locked := lock_heads_v1(thread_ids, wait);

  -- Receipts that the commit moves or looks at: its own that are still prepared, blocked ones, a continuation's (R18, R29).
  -- Its own are found by the turn's claims. Every look-up is by a whole key, written so that it stays one: as a plain join it
  -- may be planned, on empty tables, to read all receipts of the thread.
  select array_agg(distinct w.rid) into wanted_ids from (
    select r.receipt_id as rid from unnest(thread_ids, turn_ids, fences) as a (th, tu, fe)
    cross join lateral (
      select j.effect_key from turn_journal as j
      where j.thread_id = a.th and j.turn_id = a.tu and j.kind = 'claim' offset 0
    ) as c
    cross join lateral (
      select o.receipt_id, o.state, o.fence from receipts as o
      where o.thread_id = a.th and o.effect_key = c.effect_key offset 0
    ) as r
    where a.th = any (locked) and r.state = 'prepared' and r.fence = a.fe
    union all
    select r.receipt_id from (
      select thread_ids[b.ord] as th, b.ky from unnest(blocked_ords, blocked_keys) as b (ord, ky)
      union all
      select a.th, a.ky from unnest(thread_ids, settled_keys) as a (th, ky) where a.ky is not null
    ) as k
    cross join lateral (
      select o.receipt_id from receipts as o where o.thread_id = k.th and o.effect_key = k.ky offset 0
    ) as r
    where k.th = any (locked)
  ) as w;
  if wanted_ids is not null then
    select array_agg(r.thread_id), array_agg(r.effect_key), array_agg(r.receipt_id)
      into wanted_threads, wanted_keys, wanted_ids
    from unnest(wanted_ids) as w (rid) cross join lateral (
      select o.thread_id, o.effect_key, o.receipt_id from receipts as o where o.receipt_id = w.rid offset 0
    ) as r;
  end if;
  if wanted_ids is not null then
    held := lock_receipts_v1(wanted_threads, wanted_keys, wait);
  end if;

  select array_agg(d.verdict) into verdicts from (
    select case
      when t.thread_id is null then 'fenced'
      when a.th <> all (locked) then 'contended'
      when u.fence = a.fe and u.digest = a.dig then 'committed'
      when u.digest = a.dig then 'replayed'
      when u.digest is not null then 'fenced'
      when t.lease_nonce is null or t.fence <> a.fe or t.revision <> a.rev then 'fenced'
      when t.next_sequence <> a.seq then 'resequence'
      when wanted_ids is not null and exists (
        select from unnest(wanted_threads, wanted_ids) as w (th, rid) where w.th = a.th and w.rid <> all (held)) then 'contended'
      when (
        select true from turn_journal as j where j.thread_id = a.th and j.turn_id in (a.tu, a.resumed) and j.kind = 'claim'
          and j.effect_key <> all (string_to_array(a.claimed, chr(31))) limit 1
      ) or (a.resumed is not null and a.settled_key <> all (string_to_array(a.claimed, chr(31)))) then 'unclaimed'
      else 'write' end as verdict
    from unnest(thread_ids, turn_ids, digests, fences, revisions, sequences, settled_keys, resumed_turns, claims)
      with ordinality as a (th, tu, dig, fe, rev, seq, settled_key, resumed, claimed, ord)
    left join threads as t on t.thread_id = a.th
    left join turns as u on u.thread_id = a.th and u.turn_id = a.tu
    order by a.ord
  ) as d;

  if 'write' = any (verdicts) then
    -- Plain inserts: under the head lock nothing can be there already (R11).
    with moved as (
      update threads as t set
        revision = t.revision + 1, next_sequence = t.next_sequence + a.event_count, checkpoint = a.checkpoint,
        agent_id = coalesce(t.agent_id, a.agent), tenant_id = case when t.agent_id is null then a.tenant else t.tenant_id end,
        fingerprint = a.fingerprint, schema_revision = a.build, lease_nonce = null, lease_until = '-infinity',
        turn_id = null, turn_digest = null, attempts = 0, crashes = 0
      from unnest(thread_ids, turn_ids, digests, fences, sequences, agent_ids, tenant_ids, fingerprints, schema_revisions,
                  checkpoints, requests, request_times, results, statuses, event_blocks, event_counts) with ordinality
        as a (th, tu, dig, fe, seq, agent, tenant, fingerprint, build, checkpoint, request, asked_ms, result, status, events,
              event_count, ord)
      where t.thread_id = a.th and verdicts[a.ord] = 'write'
      returning a.th, a.tu, t.revision as rev, a.status, a.dig, a.request, a.asked_ms, a.result, a.seq, a.event_count,
                a.events, a.fe
    ), kept as (
      insert into turns (thread_id, turn_id, revision, status, digest, request, requested_at_ms, result, first_sequence,
                         event_count, events, fence)
      select th, tu, rev, status, dig, request, asked_ms, result, seq, event_count, events, fe from moved
    )
    insert into outbox (shard, thread_id, topic, dedupe, first_sequence, record_count, turn_id)
    select shard_of_v1(m.th, i.shard_count), m.th, 'turns.events', m.seq::text, m.seq, m.event_count, m.tu
    from moved as m cross join installation as i where m.event_count > 0;

    if wanted_ids is not null or cardinality(blocked_ords) > 0 then
      perform leave_waiting_v1(a.th, a.tu, a.fe, a.settled_key, a.resumed,
                array(select b.ky from unnest(blocked_ords, blocked_keys) as b (ord, ky) where b.ord = a.ord),
                array(select b.tu from unnest(blocked_ords, blocked_turns) as b (ord, tu) where b.ord = a.ord))
      from (
        select * from unnest(thread_ids, turn_ids, fences, settled_keys, resumed_turns) with ordinality
          as x (th, tu, fe, settled_key, resumed, ord)
        where verdicts[x.ord] = 'write' and (x.th = any (wanted_threads) or x.ord = any (blocked_ords))
        order by x.th collate "C"
      ) as a;
      -- Where the turn waits, what no earlier statement carried joins its journal; the newer of two entries wins (R16, R30).
      insert into turn_journal (thread_id, turn_id, entry, kind, effect_key, outcome, request_digest, body, requested_at_ms)
      select distinct on (e.ord, e.entry) thread_ids[e.ord], coalesce(resumed_turns[e.ord], turn_ids[e.ord]), e.entry, e.kind,
             e.ky, e.outcome, e.digest, e.body, request_times[e.ord]
      from unnest(entry_ords, entries, entry_kinds, entry_keys, entry_outcomes, entry_digests, entry_bodies) with ordinality
        as e (ord, entry, kind, ky, outcome, digest, body, place)
      where verdicts[e.ord] = 'write' and (
        select true from blocked_steps as b
        where b.thread_id = thread_ids[e.ord] and b.turn_id = coalesce(resumed_turns[e.ord], turn_ids[e.ord]) limit 1)
      order by e.ord, e.entry, e.place desc
      on conflict (thread_id, turn_id, entry) do update set kind = excluded.kind, effect_key = excluded.effect_key,
        outcome = excluded.outcome, request_digest = excluded.request_digest, body = excluded.body;
    end if;

    -- A journal lives as long as its turn waits for something.
    delete from turn_journal as j
    using unnest(thread_ids, turn_ids) with ordinality as a (th, tu, ord)
    where verdicts[a.ord] = 'write' and j.thread_id = a.th and j.turn_id = a.tu
      and (select true from blocked_steps as b where b.thread_id = a.th and b.turn_id = a.tu limit 1) is null;
  end if;

  return query
  select a.ord, case a.verdict when 'write' then 'committed' else a.verdict end,
         case when a.verdict = 'write' then a.rev + 1 when a.verdict in ('committed', 'replayed') then (
           select u.revision from turns as u where u.thread_id = a.th and u.turn_id = a.tu) end,
         case when a.verdict = 'resequence' then (select t.next_sequence from threads as t where t.thread_id = a.th) end,
         case when a.verdict = 'replayed' then (
           select u.result from turns as u where u.thread_id = a.th and u.turn_id = a.tu) end,
         case when a.verdict = 'unclaimed' then unclaimed_keys_v1(a.th, a.tu, a.resumed, a.settled_key, a.claimed) end
  from unnest(thread_ids, turn_ids, revisions, settled_keys, resumed_turns, claims, verdicts) with ordinality
    as a (th, tu, rev, settled_key, resumed, claimed, verdict, ord);
end $$;
