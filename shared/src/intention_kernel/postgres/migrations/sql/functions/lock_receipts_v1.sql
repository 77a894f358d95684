-- Purpose: lock receipts in the order that everybody uses (protocol R9), after their heads.
-- Parameters: thread ids and effect keys, side by side; whether to wait for those that are locked elsewhere.
-- Returns: the receipt ids of those that exist and are locked now. Index: receipts' key.
create function lock_receipts_v1(wanted_threads text[], wanted_keys text[], wait boolean)
returns text[] language plpgsql as $$
declare
  locked text[];
begin
  if wait then
    select array_agg(l.receipt_id) into locked from (
      select r.receipt_id from unnest(wanted_threads, wanted_keys) as w (th, ky)
      join receipts as r on r.thread_id = w.th and r.effect_key = w.ky
      order by r.thread_id, r.effect_key for no key update of r) as l;
  else
    select array_agg(l.receipt_id) into locked from (
      select r.receipt_id from unnest(wanted_threads, wanted_keys) as w (th, ky)
      join receipts as r on r.thread_id = w.th and r.effect_key = w.ky
      order by r.thread_id, r.effect_key for no key update of r skip locked) as l;
  end if;
  return coalesce(locked, '{}');
end $$;
