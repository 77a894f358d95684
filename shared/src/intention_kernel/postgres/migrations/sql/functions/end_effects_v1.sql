-- Purpose: record what became of attempts (protocol R14, R16, R24, R25), whenever they say it.
-- Parameters, one element a row, at most one row a receipt: thread, turn, key, attempt id, fence, outcome (completed |
--   failed | uncertain), value, detail, whether the operation has ended, request time. Journal entries, one element each:
--   ordinal of their row, entry, kind, key, outcome, request digest, body. And whether to wait for what is locked elsewhere.
-- Returns one row each: its ordinal, recorded | settled | agrees | contradicts | ignored | contended | absent, the state, and
--   whether an answer disagrees with it. Where that is so, or the answer is not the record's, the journal says uncertain.
-- Indexes: the keys of threads, receipts, receipt_transitions, turn_journal, reconciliation_items; outbox (thread_id, topic, dedupe).
create function end_effects_v1(
  thread_ids text[], turn_ids text[], keys text[], attempt_ids uuid[], fences bigint[], said text[], answer_values bytea[],
  details bytea[], returned boolean[], request_times bigint[],
  entry_ords bigint[], entries text[], entry_kinds text[], entry_keys text[], entry_outcomes text[], entry_digests bytea[],
  entry_bodies bytea[], wait boolean)
returns table (ord bigint, outcome text, state text, contradicted boolean) language plpgsql as $$
#variable_conflict use_column
declare
  locked text[];
  held text[];
  verdicts text[];
  is_mine boolean[];
  stands boolean[];
  late record;
begin
  -- Heads come before receipts. Only the fenced attempt writes the journal, and then nobody may take the thread meanwhile.
  locked := lock_heads_v1(array(
    select distinct a.th from unnest(thread_ids, fences) with ordinality as a (th, fe, ord)
    join threads as t on t.thread_id = a.th and t.fence = a.fe where a.ord = any (entry_ords)), wait);
  held := lock_receipts_v1(thread_ids, keys, wait);
  select array_agg(d.verdict), array_agg(d.is_mine), array_agg(not d.disputed and d.verdict not in ('ignored', 'contradicts'))
    into verdicts, is_mine, stands from (
    select case
      when r.receipt_id is null then 'absent'
      when r.receipt_id <> all (held) then 'contended'
      when t.fence = a.fe and t.lease_nonce is not null and a.ord = any (entry_ords) and a.th <> all (locked) then 'contended'
      when r.attempt_id = a.aid and r.state = 'prepared' then 'recorded'
      when r.attempt_id = a.aid and r.state = a.said then 'agrees'
      when a.said = 'uncertain' then 'ignored'
      -- A resolver has repeated the call (R26), or a lost database may have made it (R39): that this attempt did nothing
      -- neither settles that nor disagrees with it.
      when r.attempt_id = a.aid and a.said = 'failed' and (
        select true from receipt_transitions as m
        where m.thread_id = a.th and m.effect_key = a.ky and m.attempt = r.attempt and m.cause in ('retry', 'restore') limit 1
      ) then 'ignored'
      when r.attempt_id = a.aid and r.state = 'uncertain' and not r.contradicted then 'settled'
      when r.attempt_id <> a.aid and a.said = 'failed' then 'agrees'
      else 'contradicts' end as verdict, t.fence = a.fe and t.lease_nonce is not null as is_mine,
      coalesce(r.contradicted, false) as disputed
    from unnest(thread_ids, keys, attempt_ids, fences, said) with ordinality as a (th, ky, aid, fe, said, ord)
    left join receipts as r on r.thread_id = a.th and r.effect_key = a.ky
    left join threads as t on t.thread_id = a.th
    order by a.ord
  ) as d;

  update receipts as r set
    state = a.said, value = case when a.said = 'completed' then a.answer end,
    returned_at = case when a.returned then coalesce(r.returned_at, clock_timestamp()) else r.returned_at end,
    settlements = r.settlements + (verdicts[a.ord] = 'settled')::integer, version = r.version + 1,
    cause = case when verdicts[a.ord] = 'settled' then 'late_answer' else a.said end
  from unnest(thread_ids, keys, said, answer_values, returned) with ordinality as a (th, ky, said, answer, returned, ord)
  where r.thread_id = a.th and r.effect_key = a.ky and verdicts[a.ord] in ('recorded', 'settled');

  insert into turn_journal (thread_id, turn_id, entry, kind, effect_key, outcome, request_digest, body, requested_at_ms)
  select thread_ids[e.ord], turn_ids[e.ord], e.entry, e.kind, e.ky,
         case when e.kind = 'outcome' and not stands[e.ord] then 'uncertain' else e.outcome end,
         e.digest,
         -- one zero byte is the packed form of no bytes
         case when e.kind = 'outcome' and not stands[e.ord] then '\x00'::bytea else e.body end,
         request_times[e.ord]
  from unnest(entry_ords, entries, entry_kinds, entry_keys, entry_outcomes, entry_digests, entry_bodies)
    as e (ord, entry, kind, ky, outcome, digest, body)
  where is_mine[e.ord] and verdicts[e.ord] not in ('contended', 'absent')
  on conflict (thread_id, turn_id, entry) do nothing;

  -- What follows is rare: answers that do not simply record a value or a refusal.
  for late in
    select a.*, verdicts[a.ord] as verdict
    from unnest(thread_ids, keys, attempt_ids, said, answer_values, details, returned) with ordinality
      as a (th, ky, aid, said, answer, detail, returned, ord)
    where verdicts[a.ord] not in ('contended', 'absent')
      and (verdicts[a.ord] <> 'recorded' or (a.said = 'uncertain' and length(a.detail) > 0))
    order by a.th collate "C", a.ky collate "C"
  loop
    perform take_late_answer_v1(late.th, late.ky, late.aid, late.verdict, late.said, late.answer, late.detail, late.returned);
  end loop;

  return query
  select a.ord, verdicts[a.ord], coalesce(r.state, 'uncertain'), coalesce(r.contradicted, false)
  from unnest(thread_ids, keys) with ordinality as a (th, ky, ord)
  left join receipts as r on r.thread_id = a.th and r.effect_key = a.ky;
end $$;
