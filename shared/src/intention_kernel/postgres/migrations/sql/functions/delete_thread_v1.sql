-- Purpose: forget a thread (protocol R38): all of it goes but its head, which says deleted to every begin from then on, and the
--   audit log. Refused while it has anything that is not over.
-- Parameters: thread, who deletes it, why.
-- Returns: deleted (also: it is already) | busy | receipts | items | outbox | not_found. Waits for the head's lock. Indexes: the
--   keys of threads, turns, turn_journal, receipts, receipt_transitions, blocked_steps, reconciliation_items, observations,
--   receipt_work, receipt_notes, proposals and set_aside_turns by thread; receipts_open_idx; outbox
--   (thread_id, topic, dedupe); rejected_requests and decisions are read whole.
create function delete_thread_v1(thread text, who text, why text) returns text language plpgsql as $$
declare
  head threads;
begin
  select t.* into head from threads as t where t.thread_id = thread for no key update;
  if not found then
    return 'not_found';
  elsif head.state = 'deleted' then
    return 'deleted';
  elsif head.lease_nonce is not null and head.lease_until > clock_timestamp() then
    return 'busy';
  elsif exists (
      select from receipts as r where r.thread_id = thread and (r.state in ('prepared', 'uncertain') or r.contradicted)) then
    return 'receipts';
  elsif exists (select from reconciliation_items as i where i.thread_id = thread and i.phase <> 'done') then
    return 'items';
  elsif exists (select from outbox as o where o.thread_id = thread) then
    return 'outbox';
  end if;
  perform set_config('intention.forgets', 'on', true);
  delete from turns where thread_id = thread;
  delete from turn_journal where thread_id = thread;
  delete from blocked_steps where thread_id = thread;
  delete from receipts where thread_id = thread;
  delete from receipt_transitions where thread_id = thread;
  delete from reconciliation_items where thread_id = thread;
  delete from observations where thread_id = thread;
  delete from receipt_work where thread_id = thread;
  delete from receipt_notes where thread_id = thread;
  delete from proposals where thread_id = thread;
  delete from decisions where thread_id = thread;
  delete from set_aside_turns where thread_id = thread;
  delete from rejected_requests where thread_id = thread;
  perform set_config('intention.forgets', 'off', true);
  -- The fence is raised, so that an attempt that was overtaken ends as overtaken (R1).
  update threads set state = 'deleted', fence = fence + 1, lease_nonce = null, lease_until = '-infinity', turn_id = null,
    turn_digest = null, attempts = 0, crashes = 0, checkpoint = null
  where thread_id = thread;
  insert into audit_log (actor, action, thread_id, detail)
  values (who, 'delete_thread', thread, convert_to(json_build_object('reason', why, 'revision', head.revision)::text, 'UTF8'));
  return 'deleted';
end $$;
