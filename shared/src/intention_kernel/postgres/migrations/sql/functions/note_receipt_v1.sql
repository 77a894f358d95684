-- Purpose: keep what a person says about a receipt, or what shows it, with its audit line (design 7). It takes nothing from
--   anybody, so it asks for no claim and compares with no version. Repeatable by the note's id.
-- Parameters: receipt id, note id, kind, who says it, what (bytea); how many a receipt has at most, since they are read together.
-- Returns one row: noted | id_taken | full | not_found. Waits for the receipt's lock. Indexes: receipts_receipt_id_uq; the key of receipt_notes;
--   audit_log_operation_uq.
create function note_receipt_v1(receipt text, note text, of_kind text, who text, what bytea, most bigint)
returns table (outcome text) language plpgsql as $$
declare
  held receipts;
  earlier receipt_notes;
begin
  select r.* into held from receipts as r where r.receipt_id = receipt for no key update;
  if not found then
    return query select 'not_found';
    return;
  end if;
  select n.* into earlier from receipt_notes as n
  where n.thread_id = held.thread_id and n.effect_key = held.effect_key and n.note_id = note;
  if found or exists (select from audit_log as a where a.operation_id = note) then
    return query select case when (earlier.kind, earlier.actor, earlier.body) = (of_kind, who, what) then 'noted' else 'id_taken' end;
    return;
  end if;
  if (select count(*) from receipt_notes as n where n.thread_id = held.thread_id and n.effect_key = held.effect_key) >= most then
    return query select 'full';
    return;
  end if;
  insert into receipt_notes (thread_id, effect_key, note_id, kind, actor, body)
  values (held.thread_id, held.effect_key, note, of_kind, who, what);
  insert into audit_log (actor, action, thread_id, effect_key, operation_id, detail)
  values (who, case of_kind when 'comment' then 'comment' else 'evidence' end, held.thread_id, held.effect_key, note,
          convert_to(json_build_object('kind', of_kind, 'sha256', encode(sha256(what), 'hex'))::text, 'UTF8'));
  return query select 'noted';
end $$;
