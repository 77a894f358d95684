-- Purpose: the answer of a retry is an answer of the attempt that it repeated (protocol R24-R26): it settles the receipt
--   while that is uncertain, else it agrees or contradicts. The retry is over.
-- Parameters: thread, key, the attempt that was repeated, the retry's id, whether every retry of it has ended now, then those of
--   write_settlement_v1.
-- Returns one row: settled | agrees | contradicts; the receipt's state and version now, and for settled the settlement's
--   number. Waits for the receipt's lock. Indexes: the keys of receipts and decisions.
create function answer_retry_v1(
  thread text, effect text, attempt_number integer, retry uuid, ended boolean, verdict text, answer bytea,
  provider_reference text, decision text, code text, why bytea, proof bytea, who text)
returns table (outcome text, state text, version bigint, settlement integer) language plpgsql as $$
#variable_conflict use_column
declare
  receipt receipts;
  earlier decisions;
  word text;
  said text := case verdict when 'applied' then 'completed' else 'failed' end;
  number integer;
begin
  select r.* into strict receipt from receipts as r
  where r.thread_id = thread and r.effect_key = effect for no key update;
  select d.* into earlier from decisions as d where d.decision_id = decision;
  word := case
    when earlier.decision_id is not null then 'settled'
    when receipt.attempt = attempt_number and receipt.state = 'uncertain' and not receipt.contradicted then 'write'
    when receipt.attempt = attempt_number and receipt.state = said then 'agrees'
    when receipt.attempt <> attempt_number and said = 'failed' then 'agrees'
    else 'contradicts' end;
  number := earlier.settlement;
  if word = 'write' then
    number := write_settlement_v1(thread, effect, verdict, answer, provider_reference, decision, code, why, proof, who);
    word := 'settled';
  elsif word = 'contradicts' then
    perform take_late_answer_v1(thread, effect, retry, word, said, answer, why, false);
  end if;
  if ended then
    update receipts as r set retry_until = '-infinity' where r.thread_id = thread and r.effect_key = effect;
  end if;
  return query select word, r.state, r.version, number from receipts as r where r.thread_id = thread and r.effect_key = effect;
end $$;
