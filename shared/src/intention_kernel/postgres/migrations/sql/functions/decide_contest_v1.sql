-- Purpose: a second person decides a contest on evidence (protocol R25): the state is moved or confirmed, and no longer
--   contradicted. It counts as a settlement. Repeatable by its decision id.
-- Parameters: those of settle_receipt_v1.
-- Returns one row: settled | alone (nobody else contested it) | changed | retrying | late | not_found; the receipt's state and
--   version now, and for settled the settlement's number. Waits for the receipt's lock. Indexes: the keys of receipts,
--   decisions and observations.
create function decide_contest_v1(
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
    when receipt.retry_until > clock_timestamp() then 'retrying'
    when earlier.decision_id is not null or not receipt.contradicted or receipt.state = 'prepared'
      or receipt.version <> seen_version then 'changed'
    when not exists (
      select from observations as o
      where o.thread_id = thread and o.effect_key = effect and o.settlement = receipt.settlements + 1
        and o.finding = 'contested' and o.source <> 'contest:' || who) then 'alone'
    when not_after < clock_timestamp() then 'late'
    else 'write' end;
  number := earlier.settlement;
  if word = 'write' then
    number := write_settlement_v1(thread, effect, verdict, answer, provider_reference, decision, code, why, proof, who);
    word := 'settled';
  end if;
  return query select word, r.state, r.version, number from receipts as r where r.thread_id = thread and r.effect_key = effect;
end $$;
