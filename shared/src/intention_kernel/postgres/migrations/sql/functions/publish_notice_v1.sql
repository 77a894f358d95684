-- Purpose: tell the outside that a receipt needs or got attention (interface 2, receipts.reconciliation), whoever moved its
--   item: it opened, it was contradicted or contested while it was open, it was decided, is done, or failed. Orphaned items are
--   told by turn.failed.
-- Returns: nothing. Indexes: the keys of receipts and outbox (thread_id, topic, dedupe).
create function publish_notice_v1() returns trigger language plpgsql as $$
begin
  insert into outbox (shard, thread_id, topic, dedupe, record_count, value)
  select shard_of_v1(r.thread_id, n.shard_count), r.thread_id, 'receipts.reconciliation',
         r.receipt_id || ':' || new.settlement || ':' || r.version || ':' || new.issue || ':' || new.phase, 1,
         convert_to(json_strip_nulls(json_build_object(
           'schemaVersion', 1, 'receiptId', r.receipt_id, 'threadId', r.thread_id, 'turnId', r.turn_id,
           'tenantId', r.tenant_id, 'effect', r.effect_id, 'state', r.state, 'settlement', new.settlement,
           'phase', new.phase, 'version', r.version, 'title', r.title,
           'occurredAt', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))::text, 'UTF8')
  from receipts as r cross join installation as n
  where r.thread_id = new.thread_id and r.effect_key = new.effect_key
  on conflict (thread_id, topic, dedupe) do nothing;
  return null;
end $$;

create trigger reconciliation_items_opened_trg after insert on reconciliation_items
  for each row when (new.kind = 'effect') execute function publish_notice_v1();
-- What is contradicted or contested while its item is open has another version, and another decision would be asked for.
create trigger reconciliation_items_moved_trg after update of phase, reason on reconciliation_items
  for each row when (new.kind = 'effect' and (
    new.phase <> old.phase or new.reason <> old.reason and new.reason in ('contradicted', 'contested')))
  execute function publish_notice_v1();
