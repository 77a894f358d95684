-- Purpose: keep a person's decision until a second person approves it (design 7), if it would be decided now: decide_receipt_v1
--   looks, so that another's claim, the version (protocol R23) and the time (R22 a) count here as there. What waited and is
--   expired or overtaken makes room. With its audit line; repeatable by its id, and while it is open by its content. Looking
--   only, it is the same path with nothing written.
-- Parameters: proposal id, hash of the decision, the rules that ask for it, seconds until it expires, whether the workers are
--   stopped; then those of settle_receipt_v1; whether to look only.
-- Returns one row: proposed (also: it is already) | would_propose (of a look) | other (another decision waits) | id_taken (by
--   another content) | what decide_receipt_v1 refuses; the proposal, of other that one, and who proposed it; then the row of decide_receipt_v1.
--   Waits for the receipt's lock. Indexes: the keys of receipts, decisions and proposals; proposals_receipt_idx.
create function propose_decision_v1(
  proposal text, hash text, asking text[], expires_seconds double precision, stopped boolean,
  thread text, effect text, seen_version bigint, verdict text, answer bytea, provider_reference text, decision text,
  code text, why bytea, proof bytea, who text, not_after timestamptz, look_only boolean)
returns table (
  outcome text, proposal_id text, proposer text, state text, version bigint, settlement integer, continuation text,
  owner text, until timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
  receipt receipts;
  earlier proposals;
  last proposals;
  last_state text;
  said record;
  word text;
begin
  select r.* into receipt from receipts as r where r.thread_id = thread and r.effect_key = effect for no key update;
  select p.* into earlier from proposals as p where p.proposal_id = proposal;
  select p.* into last from proposals as p where p.thread_id = thread and p.effect_key = effect order by p.id desc limit 1;
  last_state := proposal_state_v1(last.state, last.expires_at, last.seen_version, receipt.version);
  if earlier.proposal_id is null and last_state = 'proposed' then
    earlier := last;
  end if;
  if earlier.proposal_id is not null then
    word := case when earlier.decision_hash = hash then 'proposed' when earlier.proposal_id = proposal then 'id_taken'
      else 'other' end;
    return query select word, earlier.proposal_id, earlier.proposer, receipt.state, receipt.version, null::integer,
                        null::text, null::text, null::timestamptz;
    return;
  end if;
  select * into said from decide_receipt_v1(
    thread, effect, seen_version, verdict, answer, provider_reference, decision, code, why, proof, who, not_after, false, true);
  word := said.outcome;
  if word = 'settled' then  -- it would be; of a decision that was made already it is the earlier answer
    word := case when exists (select from decisions as d where d.decision_id = decision) then 'changed' else 'would_propose' end;
  end if;
  if word <> 'would_propose' or look_only then
    return query select word, null::text, null::text, said.state, said.version, said.settlement, said.continuation, said.owner,
                        said.until;
    return;
  end if;
  if last.state = 'proposed' then
    update proposals as p set state = last_state, closed_at = clock_timestamp() where p.proposal_id = last.proposal_id;
  end if;
  insert into proposals (
    proposal_id, thread_id, effect_key, seen_version, resolution, value, reference, decision_id, reason_code, reason, evidence,
    proposer, workers_stopped, decision_hash, rules, expires_at)
  values (proposal, thread, effect, seen_version, verdict, answer, provider_reference, decision, code, why, proof, who, stopped,
          hash, asking, clock_timestamp() + make_interval(secs => expires_seconds));
  insert into audit_log (actor, action, thread_id, effect_key, detail)
  values (who, 'propose', thread, effect, convert_to(json_build_object(
    'proposalId', proposal, 'decisionId', decision, 'decisionHash', hash, 'resolution', verdict, 'version', seen_version,
    'rules', asking)::text, 'UTF8'));
  return query select 'proposed', proposal, who, receipt.state, receipt.version, null::integer, null::text, null::text,
                      null::timestamptz;
end $$;
