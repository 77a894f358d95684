-- Purpose: everything that a settlement writes (protocol R23, R29): the receipt's move, its item, the decision, the audit
--   line, the request of a continuation. What a contest settles is contradicted no more (R25). The caller has locked the receipt
--   and checked that it may be settled.
-- Parameters: thread, key, applied | not_applied, value (packed), provider's reference; decision id, reason code, reason,
--   evidence, who decided.
-- Returns: the settlement's number. Indexes: the keys of receipts, reconciliation_items and decisions.
create function write_settlement_v1(
  thread text, effect text, verdict text, answer bytea, provider_reference text, decision text, code text, why bytea,
  proof bytea, who text)
returns integer language plpgsql as $$
#variable_conflict use_column
declare
  receipt receipts;
begin
  update receipts as r set
    state = case verdict when 'applied' then 'completed' else 'failed' end,
    value = case verdict when 'applied' then answer end,
    reference = provider_reference, settlements = r.settlements + 1, version = r.version + 1, contradicted = false,
    cause = case when r.contradicted then 'contest' else 'settle' end
  where r.thread_id = thread and r.effect_key = effect
  returning r.* into strict receipt;
  insert into reconciliation_items (thread_id, effect_key, settlement, phase, reason)
  values (thread, effect, receipt.settlements, 'decided', verdict)
  on conflict (thread_id, effect_key, settlement, kind) do update set phase = 'decided', reason = excluded.reason, looks = 0;
  insert into decisions (decision_id, thread_id, effect_key, settlement, resolution, value, reference, reason_code, reason,
                         evidence, actor)
  values (decision, thread, effect, receipt.settlements, verdict, answer, provider_reference, code, why, proof, who);
  insert into audit_log (actor, action, thread_id, effect_key, detail)
  values (who, case receipt.cause when 'contest' then 'decide_contest' else 'settle' end, thread, effect, convert_to(json_strip_nulls(json_build_object(
    'decisionId', decision, 'resolution', verdict, 'settlement', receipt.settlements, 'version', receipt.version,
    'reference', provider_reference, 'reasonCode', code))::text, 'UTF8'));
  perform ask_continuation_v1(thread, effect, receipt.settlements, 1);
  return receipt.settlements;
end $$;
