-- Purpose: a person contests a settlement (protocol R25, R27): no state changes, the receipt is contradicted, so that no attempt
--   is made and its value is not handed out, and its item is open, on top of the queue, for a second person.
-- Parameters: thread, key, the version that was seen, id of the contest (it makes a repeat known), who contests, why.
-- Returns one row: contested | held (another person works on it) | changed | retrying | not_settled | not_found; the receipt's
--   state and version now, for held who has it until when. Waits for the receipt's lock. Indexes: the keys of receipts,
--   receipt_work, observations and reconciliation_items.
create function contest_receipt_v1(
  thread text, effect text, seen_version bigint, contest text, who text, why bytea)
returns table (outcome text, state text, version bigint, owner text, until timestamptz) language plpgsql as $$
#variable_conflict use_column
declare
  receipt receipts;
  work receipt_work;
  word text;
begin
  select r.* into receipt from receipts as r where r.thread_id = thread and r.effect_key = effect for no key update;
  if not found then
    return query select 'not_found', null::text, null::bigint, null::text, null::timestamptz;
    return;
  end if;
  select w.* into work from receipt_work as w
  where w.thread_id = thread and w.effect_key = effect and w.claimed_by <> who and w.claimed_until > clock_timestamp();
  word := case
    when exists (
      select from observations as o where o.thread_id = thread and o.effect_key = effect and o.finding = 'contested'
        and o.reference = contest) then 'contested'
    when work.claimed_by is not null then 'held'
    when receipt.retry_until > clock_timestamp() then 'retrying'
    when receipt.version <> seen_version then 'changed'
    when not receipt.contradicted and (receipt.state not in ('completed', 'failed') or receipt.settlements = 0)
      then 'not_settled'
    else 'write' end;
  if word = 'write' then
    if not receipt.contradicted then
      update receipts as r set contradicted = true, version = r.version + 1, cause = 'contested'
      where r.thread_id = thread and r.effect_key = effect;
    end if;
    insert into observations (
      thread_id, effect_key, settlement, receipt_version, source, finding, detail, reference, started_at)
    values (thread, effect, receipt.settlements + 1, receipt.version, 'contest:' || who, 'contested', why, contest,
            clock_timestamp());
    -- It waits for people: nothing that looks by itself has anything to say about it.
    insert into reconciliation_items as i (thread_id, effect_key, settlement, reason, next_look_at)
    values (thread, effect, receipt.settlements + 1, 'contested', 'infinity')
    on conflict (thread_id, effect_key, settlement, kind) do update set reason = 'contested', next_look_at = 'infinity'
      where i.phase = 'open';
    insert into audit_log (actor, action, thread_id, effect_key, detail)
    values (who, 'contest', thread, effect, convert_to(json_build_object(
      'contestId', contest, 'state', receipt.state, 'settlement', receipt.settlements, 'version', receipt.version)::text, 'UTF8'));
    word := 'contested';
  end if;
  return query select word, r.state, r.version, work.claimed_by, work.claimed_until from receipts as r where r.thread_id = thread and r.effect_key = effect;
end $$;
