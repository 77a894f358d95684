-- Purpose: keep an item's place in the queue beside it (design 7), so that a page is read from one index: contradicted, how many
--   turns wait for its receipt, when the provider forgets the key. Whoever changes one of them holds the receipt's lock.
-- Returns: nothing. Indexes: the keys of receipts, blocked_steps (by receipt) and reconciliation_items (by receipt).
create function rank_item_v1() returns trigger language plpgsql as $$
begin
  select r.contradicted and new.phase = 'open',
         (select count(*) from blocked_steps as b where b.thread_id = new.thread_id and b.effect_key = new.effect_key),
         case when r.deduplicates and r.key_window_seconds is not null
           then r.first_prepared_at + make_interval(secs => r.key_window_seconds) else 'infinity' end
    into new.contradicted, new.waiting, new.key_closes_at
  from receipts as r where r.thread_id = new.thread_id and r.effect_key = new.effect_key;
  new.contradicted := coalesce(new.contradicted, false);
  new.waiting := coalesce(new.waiting, 0);
  new.key_closes_at := coalesce(new.key_closes_at, 'infinity');
  return new;
end $$;

create trigger reconciliation_items_rank_trg before insert or update of phase on reconciliation_items
  for each row execute function rank_item_v1();

-- A receipt is contradicted from now on, or no more.
create function rank_items_of_receipt_v1() returns trigger language plpgsql as $$
begin
  update reconciliation_items set contradicted = new.contradicted
  where thread_id = new.thread_id and effect_key = new.effect_key and phase = 'open';
  return null;
end $$;

create trigger receipts_rank_trg after update of contradicted on receipts
  for each row when (new.contradicted <> old.contradicted) execute function rank_items_of_receipt_v1();

-- One turn more or less waits for a receipt.
create function rank_items_of_step_v1() returns trigger language plpgsql as $$
declare
  step blocked_steps := case tg_op when 'DELETE' then old else new end;
begin
  update reconciliation_items set waiting = (
    select count(*) from blocked_steps as b where b.thread_id = step.thread_id and b.effect_key = step.effect_key)
  where thread_id = step.thread_id and effect_key = step.effect_key and phase <> 'done';
  return null;
end $$;

create trigger blocked_steps_rank_trg after insert or delete on blocked_steps
  for each row execute function rank_items_of_step_v1();
