-- Purpose: record that the identical call is about to be repeated (protocol R26), so that nobody settles the receipt while
--   it runs. Only for what the first prepare pinned as deduplicated, and only inside that window.
-- Parameters: thread, key, the version that was seen; seconds of the call, of the time after it in which its answer may
--   still be written, and of the margin before the window's end.
-- Returns one row: begun | changed | closed (the window); the receipt's version now; whether an earlier retry never ended.
-- Indexes: the keys of receipts and reconciliation_items.
create function begin_retry_v1(
  thread text, effect text, seen_version bigint, call_seconds double precision, grace_seconds double precision,
  margin_seconds double precision)
returns table (outcome text, version bigint, unfinished boolean) language plpgsql as $$
#variable_conflict use_column
declare
  receipt receipts;
  running interval := make_interval(secs => call_seconds + grace_seconds);
begin
  select r.* into receipt from receipts as r where r.thread_id = thread and r.effect_key = effect for no key update;
  if not found or receipt.state <> 'uncertain' or receipt.contradicted or receipt.version <> seen_version
     or receipt.retry_until > clock_timestamp() then
    return query select 'changed', receipt.version, false;
  elsif not receipt.deduplicates or receipt.key_window_seconds is null or clock_timestamp() > receipt.first_prepared_at
      + make_interval(secs => receipt.key_window_seconds - margin_seconds - call_seconds) then
    return query select 'closed', receipt.version, false;
  else
    update receipts as r set
      retry_until = clock_timestamp() + running,
      call_deadline = greatest(r.call_deadline, clock_timestamp() + make_interval(secs => call_seconds)),
      version = r.version + 1, cause = 'retry'
    where r.thread_id = thread and r.effect_key = effect;
    update reconciliation_items as i set next_look_at = clock_timestamp() + running
    where i.thread_id = thread and i.effect_key = effect and i.settlement = receipt.settlements + 1
      and i.kind = 'effect' and i.phase = 'open';
    return query select 'begun', receipt.version + 1, receipt.retry_until > '-infinity';
  end if;
end $$;
