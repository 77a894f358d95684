-- Purpose: retention (protocol R38): of old turns of a thread their tombstones stay (thread, turn, digest, revision, outcome), so
--   that a redelivery is answered as before, without what was said; of settled receipts key, fingerprint, state and the value
--   that a later call of the key gets. Left alone: what waits, what is not published, what is open.
-- Parameters: thread; how many seconds ago a turn was committed, or a receipt prepared, at least; how many of each at most.
-- Returns one row: how many turns and how many receipts. Waits for the head's lock. Indexes: the keys of threads, turns,
--   receipts, reconciliation_items, blocked_steps (by thread) and outbox (thread_id, topic, dedupe).
create function thin_thread_v1(thread text, older_seconds double precision, most integer)
returns table (turns integer, receipts integer) language plpgsql as $$
#variable_conflict use_column
declare
  before timestamptz := clock_timestamp() - make_interval(secs => older_seconds);
  nothing constant bytea := '\x00';  -- the packed form of no bytes
  turn_count integer;
  receipt_count integer;
begin
  perform from threads as t where t.thread_id = thread for no key update;
  perform set_config('intention.forgets', 'on', true);
  update turns as u set request = nothing, events = '\x0090', result = nothing || convert_to(json_build_object(
    'revision', u.revision, 'status', u.status, 'response', null, 'blockedOn', json_build_array(), 'facts', json_build_array(),
    'replayed', false)::text, 'UTF8')
  from (
    select o.turn_id from turns as o
    where o.thread_id = thread and o.committed_at <= before and o.request <> nothing
      and not exists (select from blocked_steps as b where b.thread_id = thread and b.turn_id = o.turn_id)
      and not exists (select from outbox as x where x.thread_id = thread and x.turn_id = o.turn_id)
    order by o.revision limit most
  ) as old
  where u.thread_id = thread and u.turn_id = old.turn_id;
  get diagnostics turn_count = row_count;
  perform set_config('intention.forgets', 'off', true);
  update receipts as r set payload = nothing || 'null'::bytea, host_context = nothing || 'null'::bytea, title = ''
  from (
    select o.effect_key from receipts as o
    where o.thread_id = thread and o.prepared_at <= before and o.state in ('completed', 'failed') and not o.contradicted
      and o.title <> ''
      and not exists (select from blocked_steps as b where b.thread_id = thread and b.effect_key = o.effect_key)
      and not exists (
        select from reconciliation_items as i
        where i.thread_id = thread and i.effect_key = o.effect_key and i.phase <> 'done')
    order by o.effect_key limit most for no key update
  ) as old
  where r.thread_id = thread and r.effect_key = old.effect_key;
  get diagnostics receipt_count = row_count;
  return query select turn_count, receipt_count;
end $$;
