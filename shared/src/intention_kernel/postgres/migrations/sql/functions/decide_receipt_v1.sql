-- Purpose: a person's decision (protocol R23, R25), which honours another person's claim. Looking only, it is the same path with
--   all that it writes taken back: what would happen.
-- Parameters: those of settle_receipt_v1; whether it decides a contest, whether to look only.
-- Returns one row: as settle_receipt_v1 or decide_contest_v1, or held (by another person); for settled the continuation that
--   is asked for, for held who has it until when. Waits for the receipt's lock, as a claim does. Indexes: the keys of receipts,
--   decisions, receipt_work and reconciliation_items.
create function decide_receipt_v1(
  thread text, effect text, seen_version bigint, verdict text, answer bytea, provider_reference text, decision text,
  code text, why bytea, proof bytea, who text, not_after timestamptz, contested boolean, look_only boolean)
returns table (
  outcome text, state text, version bigint, settlement integer, continuation text, owner text, until timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
  receipt receipts;
  work receipt_work;
  said record;
  next_turn text;
begin
  select r.* into receipt from receipts as r where r.thread_id = thread and r.effect_key = effect for no key update;
  select w.* into work from receipt_work as w where w.thread_id = thread and w.effect_key = effect;
  if work.claimed_until > clock_timestamp() and work.claimed_by <> who
     and not exists (select from decisions as d where d.decision_id = decision) then
    return query select 'held', receipt.state, receipt.version, null::integer, null::text, work.claimed_by, work.claimed_until;
    return;
  end if;
  begin
    if contested then
      select * into said from decide_contest_v1(
        thread, effect, seen_version, verdict, answer, provider_reference, decision, code, why, proof, who, not_after);
    else
      select * into said from settle_receipt_v1(
        thread, effect, seen_version, verdict, answer, provider_reference, decision, code, why, proof, who, not_after);
    end if;
    select i.turn_id into next_turn from reconciliation_items as i
    where i.thread_id = thread and i.effect_key = effect and i.settlement = said.settlement and i.kind = 'effect';
    if look_only then
      raise exception 'only looked at' using errcode = 'IK003';
    end if;
  exception when sqlstate 'IK003' then
    null;  -- taken back, but for what these variables hold
  end;
  return query select said.outcome, said.state, said.version, said.settlement, next_turn, null::text, null::timestamptz;
end $$;
