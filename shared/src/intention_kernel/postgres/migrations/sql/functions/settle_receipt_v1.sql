-- Purpose: settle an uncertain receipt on evidence, if it is as it was when the evidence was gathered (protocol R23).
--   Repeatable by its decision id.
-- Parameters: thread, key, the version that was seen, then those of write_settlement_v1, and until when the settlement is
--   admitted (protocol R22 a; null: at any time).
-- Returns one row: settled | changed | retrying | late | not_found; the receipt's state and version now, and for settled
--   the settlement's number. Waits for the receipt's lock. Indexes: the keys of receipts and decisions.
create function settle_receipt_v1(
  thread text, effect text, seen_version bigint, verdict text, answer bytea, provider_reference text, decision text,
  code text, why bytea, proof bytea, who text, not_after timestamptz)
returns table (outcome text, state text, version bigint, settlement integer) language plpgsql as $$
#variable_conflict use_column
declare
  receipt receipts;
  earlier decisions;
  word text;
  number integer;
begin
  select r.* into receipt from receipts as r where r.thread_id = thread and r.effect_key = effect for no key update;
  if not found then
    return query select 'not_found', null::text, null::bigint, null::integer;
    return;
  end if;
  select d.* into earlier from decisions as d where d.decision_id = decision;
  word := case
    when earlier.decision_id is not null and (earlier.thread_id, earlier.effect_key, earlier.resolution)
      = (thread, effect, verdict) then 'settled'
    when earlier.decision_id is not null or receipt.state <> 'uncertain' or receipt.contradicted then 'changed'
    when receipt.retry_until > clock_timestamp() then 'retrying'
    when receipt.version <> seen_version then 'changed'
    when not_after < clock_timestamp() then 'late'
    else 'write' end;
  number := earlier.settlement;
  if word = 'write' then
    number := write_settlement_v1(thread, effect, verdict, answer, provider_reference, decision, code, why, proof, who);
    word := 'settled';
  end if;
  return query select word, r.state, r.version, number from receipts as r where r.thread_id = thread and r.effect_key = effect;
end $$;
