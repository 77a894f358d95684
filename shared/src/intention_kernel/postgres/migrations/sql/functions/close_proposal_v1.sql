-- Purpose: a proposal is rejected, or withdrawn by its proposer (design 7): nothing is decided. With its audit line; a repeat by the
--   same person answers the same.
-- Parameters: proposal id, rejected | withdrawn, who, why.
-- Returns one row: closed | no_proposal | not_open | not_proposer; the proposal's state now, who proposed it. Waits for the
--   receipt's lock, under which proposals change. Indexes: the keys of proposals and receipts.
create function close_proposal_v1(proposal text, word text, who text, why text)
returns table (outcome text, state text, proposer text) language plpgsql as $$
#variable_conflict use_column
declare
  receipt receipts;
  wanted proposals;
  state_now text;
begin
  select r.* into receipt from receipts as r
  join proposals as p on p.thread_id = r.thread_id and p.effect_key = r.effect_key
  where p.proposal_id = proposal for no key update of r;
  select p.* into wanted from proposals as p where p.proposal_id = proposal;
  if receipt.receipt_id is null or wanted.proposal_id is null then
    return query select 'no_proposal', null::text, null::text;
    return;
  end if;
  state_now := proposal_state_v1(wanted.state, wanted.expires_at, wanted.seen_version, receipt.version);
  if word = 'withdrawn' and wanted.proposer <> who then
    return query select 'not_proposer', state_now, wanted.proposer;
    return;
  end if;
  if state_now = 'proposed' then
    update proposals as p set state = word, closed_by = who, closed_at = clock_timestamp(), closing_reason = why
    where p.proposal_id = proposal;
    insert into audit_log (actor, action, thread_id, effect_key, detail)
    values (who, case word when 'rejected' then 'reject' else 'withdraw' end, wanted.thread_id, wanted.effect_key,
            convert_to(json_strip_nulls(json_build_object(
              'proposalId', proposal, 'proposer', wanted.proposer, 'decisionHash', wanted.decision_hash, 'reason', why))::text, 'UTF8'));
    return query select 'closed', word, wanted.proposer;
    return;
  end if;
  return query select case when state_now = word and wanted.closed_by = who then 'closed' else 'not_open' end, state_now,
                      wanted.proposer;
end $$;
