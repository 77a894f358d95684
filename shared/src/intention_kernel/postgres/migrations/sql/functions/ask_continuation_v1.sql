-- Purpose: ask for a continuation of a settled receipt (protocol R28, R29), and let its item own it (R31). The caller has
--   locked the receipt. Idempotent by the continuation's turn id, as long as the relay has not published it.
-- Parameters: thread id, effect key, settlement number, issue number.
-- Returns: nothing. Indexes: receipts' key, reconciliation_items' key, outbox (thread_id, topic, dedupe).
create function ask_continuation_v1(thread text, effect text, settlement_number integer, issue_number integer)
returns void language plpgsql as $$
#variable_conflict use_column
declare
  receipt receipts;
  continuation text;
  request json;
begin
  select * into strict receipt from receipts where thread_id = thread and effect_key = effect;
  continuation := 'reconciliation:' || receipt.receipt_id || ':' || settlement_number || ':' || issue_number;
  insert into reconciliation_items (thread_id, effect_key, settlement, phase, reason, issue, turn_id)
  values (thread, effect, settlement_number, 'decided', 'late_answer', issue_number, continuation)
  on conflict (thread_id, effect_key, settlement, kind) do update
    set phase = 'decided', closed_at = null, next_look_at = clock_timestamp(),
        looks = case when reconciliation_items.issue < excluded.issue then 0 else reconciliation_items.looks end,
        issue = excluded.issue, turn_id = excluded.turn_id
    where reconciliation_items.issue <= excluded.issue;
  request := json_strip_nulls(json_build_object(
    'schemaVersion', 1, 'threadId', thread, 'turnId', continuation,
    'agentId', receipt.agent_id, 'tenantId', receipt.tenant_id,
    'trigger', json_build_object('kind', 'reconciliation', 'receiptId', receipt.receipt_id,
                                 'settlement', settlement_number)));
  insert into outbox (shard, thread_id, topic, dedupe, record_count, value)
  select shard_of_v1(thread, i.shard_count), thread, 'turns.requests', continuation, 1, convert_to(request::text, 'UTF8')
  from installation as i
  on conflict (thread_id, topic, dedupe) do nothing;
end $$;
