-- Purpose: what a resolver or a provider says about a receipt, as one text that is equal exactly where the answer is.
-- Parameters: the observation's finding, value (packed) and reference. Returns: that text.
create function answer_of_v1(finding text, value bytea, reference text) returns text language sql immutable as $$
  select finding || ':' || coalesce(md5(value), '') || ':' || coalesce(reference, '')
$$;

-- Bring a receipt back into sight: another answer than the one it was snoozed on, or one that contradicts or contests what is
-- recorded, whatever it was snoozed on.
create function wake_receipt_v1() returns trigger language plpgsql as $$
begin
  update receipt_work set snoozed_until = '-infinity', snoozed_answer = null, version = version + 1
  where thread_id = new.thread_id and effect_key = new.effect_key and snoozed_until > clock_timestamp()
    and (new.finding in ('late_answer', 'contested')
         or snoozed_answer <> answer_of_v1(new.finding, new.value, new.reference));
  return null;
end $$;

create trigger observations_wake_trg after insert on observations
  for each row execute function wake_receipt_v1();
