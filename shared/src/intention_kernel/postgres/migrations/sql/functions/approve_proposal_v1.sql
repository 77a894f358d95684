-- Purpose: a second person approves a proposal (design 7): its decision is settled as it is stored, as its proposer's (protocol
--   R23), it is closed, and the audit log says who proposed and who approved, in one transaction. Repeatable by the same person.
-- Parameters: proposal id, hash of what the person approves, who approves, why; until when it is admitted (protocol R22 a; null:
--   at any time).
-- Returns one row: settled | no_proposal | not_open | hash_differs | self (its own proposer) | held (by a third person) | changed
--   | retrying | late; the receipt's state (of not_open the proposal's) and version now, for settled the settlement's number and
--   the continuation that is asked for, for held who has it until when. Waits for the receipt's lock, as a decision does, under
--   which proposals change. Indexes: the keys of proposals, receipts, receipt_work, decisions and reconciliation_items.
create function approve_proposal_v1(proposal text, hash text, who text, why text, not_after timestamptz)
returns table (
  outcome text, state text, version bigint, settlement integer, continuation text, owner text, until timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
  receipt receipts;
  wanted proposals;
  work receipt_work;
  said record;
  word text;
  state_now text;
  next_turn text;
begin
  select r.* into receipt from receipts as r
  join proposals as p on p.thread_id = r.thread_id and p.effect_key = r.effect_key
  where p.proposal_id = proposal for no key update of r;
  select p.* into wanted from proposals as p where p.proposal_id = proposal;
  state_now := proposal_state_v1(wanted.state, wanted.expires_at, wanted.seen_version, receipt.version);
  select w.* into work from receipt_work as w
  where w.thread_id = receipt.thread_id and w.effect_key = receipt.effect_key and w.claimed_until > clock_timestamp()
    and w.claimed_by not in (wanted.proposer, who);
  word := case
    when receipt.receipt_id is null or wanted.proposal_id is null then 'no_proposal'
    when wanted.decision_hash <> hash then 'hash_differs'
    when wanted.proposer = who then 'self'
    when state_now = 'approved' and wanted.closed_by = who then 'approved'
    when state_now = 'overtaken' then 'changed'
    when state_now <> 'proposed' then 'not_open'
    when work.claimed_by is not null then 'held'
    else 'approve' end;
  if word in ('approve', 'approved') then
    -- Of one that is approved, the answer of then: its decision id is known.
    select * into said from settle_receipt_v1(
      wanted.thread_id, wanted.effect_key, wanted.seen_version, wanted.resolution, wanted.value, wanted.reference,
      wanted.decision_id, wanted.reason_code, wanted.reason, wanted.evidence, wanted.proposer, not_after);
    if word = 'approve' and said.outcome = 'settled' then
      update proposals as p set state = 'approved', closed_by = who, closed_at = clock_timestamp(), closing_reason = why
      where p.proposal_id = proposal;
      insert into audit_log (actor, action, thread_id, effect_key, detail)
      values (who, 'approve', wanted.thread_id, wanted.effect_key, convert_to(json_strip_nulls(json_build_object(
        'proposalId', proposal, 'proposer', wanted.proposer, 'decisionId', wanted.decision_id, 'decisionHash', hash,
        'settlement', said.settlement, 'version', said.version, 'reason', why))::text, 'UTF8'));
    end if;
    select i.turn_id into next_turn from reconciliation_items as i
    where i.thread_id = wanted.thread_id and i.effect_key = wanted.effect_key and i.settlement = said.settlement
      and i.kind = 'effect';
    return query select said.outcome, said.state, said.version, said.settlement, next_turn, null::text, null::timestamptz;
    return;
  end if;
  return query select word, case word when 'not_open' then state_now else receipt.state end, receipt.version, null::integer,
                      null::text, work.claimed_by, work.claimed_until;
end $$;
