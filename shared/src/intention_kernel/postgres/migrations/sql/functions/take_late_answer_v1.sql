-- Purpose: what an answer leaves behind that does not simply record an outcome: the end of the operation (R22 c), the
--   observation, the settlement's continuation and audit line (R24), or the contradiction with its item (R25). The caller
--   has locked the receipt and moved its state.
-- Parameters: thread, key, attempt id, the verdict of end_effects_v1, outcome, value, detail, whether the operation ended.
-- Returns: nothing. Indexes: the keys of receipts, observations, reconciliation_items.
create function take_late_answer_v1(
  thread text, effect text, attempt_uuid uuid, verdict text, said text, answer bytea, detail bytea, returned boolean)
returns void language plpgsql as $$
#variable_conflict use_column
declare
  receipt receipts;
  who text := 'attempt ' || attempt_uuid;
begin
  select * into strict receipt from receipts as r where r.thread_id = thread and r.effect_key = effect;
  if returned and receipt.attempt_id = attempt_uuid and receipt.returned_at is null then
    update receipts as r set returned_at = clock_timestamp() where r.thread_id = thread and r.effect_key = effect;
  end if;
  if verdict in ('agrees', 'ignored') then
    return;
  end if;
  insert into observations (thread_id, effect_key, settlement, receipt_version, source, finding, detail, value, started_at)
  select thread, effect, receipt.settlements + (verdict <> 'settled')::integer, receipt.version, who,
         case when verdict <> 'recorded' then 'late_answer'
              when detail like convert_to('returned, not storable%', 'UTF8') then 'not_storable'
              else 'error' end,
         case when verdict = 'recorded' then detail
              else convert_to(said || ': ', 'UTF8') || detail end,
         answer, receipt.prepared_at
  where not exists (
    select from observations as o
    where o.thread_id = thread and o.effect_key = effect and o.source = who
      and (o.finding = 'late_answer') = (verdict <> 'recorded'));
  if verdict = 'contradicts' then
    if not receipt.contradicted then
      update receipts as r set contradicted = true, version = r.version + 1, cause = 'contradicted'
      where r.thread_id = thread and r.effect_key = effect;
    end if;
    insert into reconciliation_items as i (thread_id, effect_key, settlement, reason)
    values (thread, effect, receipt.settlements + 1, 'contradicted')
    on conflict (thread_id, effect_key, settlement, kind) do update set reason = 'contradicted' where i.phase = 'open';
  elsif verdict = 'settled' then
    perform ask_continuation_v1(thread, effect, receipt.settlements, 1);
    insert into audit_log (actor, action, thread_id, effect_key, detail)
    values (who, 'late_answer', thread, effect,
            convert_to(json_build_object('outcome', said, 'settlement', receipt.settlements)::text, 'UTF8'));
  end if;
end $$;
