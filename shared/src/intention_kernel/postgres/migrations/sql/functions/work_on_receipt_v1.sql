-- Purpose: who works on a receipt, and when it is in sight (design 7). It compares with the version of that work, not of the
--   receipt: what a resolver does meanwhile takes nothing from a person. With its audit line; repeatable by its operation id.
-- Parameters: receipt id, claim | takeover | release | snooze | wake | probe; the version of the work that was seen (null: as
--   it is), id of the operation, who works, for how many seconds (a claim; a snooze, null: until another answer), why.
-- Returns one row: worked | held (by another) | not_held | changed | nothing_open | not_looked_at (no resolver has anything to
--   do: a retry is running, or what is recorded is in doubt) | id_taken | not_found; the work's version, and of a claim who has it until when, of a
--   snooze until when it lasts (null: until another answer). A repeat answers what was done then. Waits for the receipt's lock,
--   as a decision does. Indexes: receipts_receipt_id_uq; audit_log_operation_uq; the keys of receipt_work, reconciliation_items
--   and observations.
create function work_on_receipt_v1(
  receipt text, act text, seen_version bigint, operation text, who text, seconds double precision, why text)
returns table (outcome text, version bigint, owner text, until timestamptz) language plpgsql as $$
#variable_conflict use_column
declare
  held receipts;
  work receipt_work;
  earlier audit_log;
  word text;
  foreign_claim boolean;
  ends timestamptz := case when seconds is not null then clock_timestamp() + make_interval(secs => seconds) end;
begin
  select r.* into held from receipts as r where r.receipt_id = receipt for no key update;
  if not found then
    return query select 'not_found', null::bigint, null::text, null::timestamptz;
    return;
  end if;
  select a.* into earlier from audit_log as a where a.operation_id = operation;
  if earlier.id is not null then
    return query select
      case when (earlier.thread_id, earlier.effect_key, earlier.action, earlier.actor) = (held.thread_id, held.effect_key, act, who)
          and (d.said->>'seconds')::double precision is not distinct from seconds and d.said->>'reason' is not distinct from why
        then 'worked' else 'id_taken' end,
      (d.said->>'version')::bigint, earlier.actor, (d.said->>'until')::timestamptz
    from (select convert_from(earlier.detail, 'UTF8')::json as said) as d;
    return;
  end if;
  select w.* into work from receipt_work as w where w.thread_id = held.thread_id and w.effect_key = held.effect_key;
  work.version := coalesce(work.version, 0);
  foreign_claim := work.claimed_until > clock_timestamp() and work.claimed_by <> who;
  word := case
    when work.version <> seen_version then 'changed'
    when foreign_claim and act <> 'takeover' then 'held'
    when act = 'release' and (work.claimed_by is null or work.claimed_until <= clock_timestamp()) then 'not_held'
    when act <> 'release' and not exists (
      select from reconciliation_items as i
      where i.thread_id = held.thread_id and i.effect_key = held.effect_key and i.phase <> 'done') then 'nothing_open'
    when act = 'probe' and (held.state <> 'uncertain' or held.contradicted or held.retry_until > clock_timestamp())
      then 'not_looked_at'
    else 'worked' end;
  if word <> 'worked' then
    return query select word, work.version, work.claimed_by, work.claimed_until;
    return;
  end if;
  insert into receipt_work as w (thread_id, effect_key) values (held.thread_id, held.effect_key)
  on conflict (thread_id, effect_key) do update set version = w.version + 1;
  if act in ('claim', 'takeover') then
    update receipt_work as w set claimed_by = who, claimed_until = ends
    where w.thread_id = held.thread_id and w.effect_key = held.effect_key;
  elsif act = 'release' then
    update receipt_work as w set claimed_by = null, claimed_until = '-infinity'
    where w.thread_id = held.thread_id and w.effect_key = held.effect_key;
  elsif act in ('snooze', 'wake') then
    update receipt_work as w set
      snoozed_until = case act when 'wake' then '-infinity' else coalesce(ends, 'infinity') end,
      snoozed_answer = case when act = 'snooze' and ends is null then coalesce((
        select answer_of_v1(o.finding, o.value, o.reference) from observations as o
        where o.thread_id = held.thread_id and o.effect_key = held.effect_key order by o.id desc limit 1), '') end
    where w.thread_id = held.thread_id and w.effect_key = held.effect_key;
  else
    update reconciliation_items as i set next_look_at = clock_timestamp()
    where i.thread_id = held.thread_id and i.effect_key = held.effect_key and i.kind = 'effect' and i.phase = 'open';
  end if;
  insert into audit_log (actor, action, thread_id, effect_key, operation_id, detail)
  values (who, act, held.thread_id, held.effect_key, operation, convert_to(json_strip_nulls(json_build_object(
    'version', work.version + 1, 'seconds', seconds, 'until', ends, 'reason', why,
    'from', case when foreign_claim then work.claimed_by end))::text, 'UTF8'));
  return query select 'worked', work.version + 1, who, ends;
end $$;
