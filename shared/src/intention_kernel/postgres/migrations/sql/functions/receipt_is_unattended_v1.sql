-- Purpose: does this open receipt wait for a scan: prepared by an attempt that is over, or without the item of its next
--   settlement (protocol R27)?
-- Parameters: the receipt. Returns: true or false. Indexes: the keys of threads and reconciliation_items.
create function receipt_is_unattended_v1(receipt receipts) returns boolean language sql volatile as $$
  select case
    when receipt.state = 'prepared' and not attempt_is_live_v1(receipt.thread_id, receipt.fence) then true
    else (receipt.state = 'uncertain' or receipt.contradicted) and not exists (
      select from reconciliation_items as i
      where i.thread_id = receipt.thread_id and i.effect_key = receipt.effect_key
        and i.settlement = receipt.settlements + 1 and i.kind = 'effect')
  end
$$;
