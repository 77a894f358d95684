-- Purpose: find what needs attention (protocol R27). Level-triggered: a prepared receipt whose fence has no live lease on the
--   head becomes uncertain; an uncertain or contradicted one without its item gets it. Several scanners may run at once.
-- Parameters: how many receipts at most.
-- Returns one row: how many became uncertain, how many items were opened.
-- Indexes: receipts_open_idx, so that settled receipts cost nothing; the keys of threads and reconciliation_items.
create function scan_receipts_v1(most integer) returns table (uncertain integer, opened integer) language plpgsql as $$
#variable_conflict use_column
declare
  locked text[];
  held text[];
  moved integer;
  made integer;
begin
  -- Heads come before receipts (R9). One that is locked right now is in use, or another scanner's: it does not count.
  select array_agg(l.thread_id) into locked from (
    -- As receipt_is_unattended_v1, spelt out: this runs all the time over everything that waits for people.
    select t.thread_id from receipts as r join threads as t on t.thread_id = r.thread_id
    where (r.state in ('prepared', 'uncertain') or r.contradicted) and (
      r.state = 'prepared' and (t.fence <> r.fence or t.lease_nonce is null or t.lease_until <= clock_timestamp())
      or (r.state = 'uncertain' or r.contradicted) and not exists (
        select from reconciliation_items as i
        where i.thread_id = r.thread_id and i.effect_key = r.effect_key and i.settlement = r.settlements + 1
          and i.kind = 'effect'))
    order by r.thread_id, r.effect_key limit most for no key update of t skip locked) as l;
  if locked is null then
    return query select 0, 0;
    return;
  end if;
  -- On fresh rows, under the locks: a lease that was over cannot have revived, but another attempt may have begun.
  select array_agg(c.receipt_id) into held from (
    select r.receipt_id from receipts as r
    where r.thread_id = any (locked) and (r.state in ('prepared', 'uncertain') or r.contradicted)
      and receipt_is_unattended_v1(r)
    order by r.thread_id, r.effect_key limit most for no key update of r skip locked) as c;
  update receipts as r set state = 'uncertain', version = r.version + 1, cause = 'scan'
  where r.receipt_id = any (held) and r.state = 'prepared' and not attempt_is_live_v1(r.thread_id, r.fence);
  get diagnostics moved = row_count;
  insert into reconciliation_items (thread_id, effect_key, settlement, reason)
  select r.thread_id, r.effect_key, r.settlements + 1, case when r.contradicted then 'contradicted' else 'uncertain' end
  from receipts as r
  where r.receipt_id = any (held) and (r.state = 'uncertain' or r.contradicted)
  order by r.thread_id, r.effect_key
  on conflict (thread_id, effect_key, settlement, kind) do nothing;
  get diagnostics made = row_count;
  return query select moved, made;
end $$;
