-- Purpose: send a rejected record again as it came, for another build may read it, or give it up for ever (protocol R33, R34).
--   It is judged as if it had come now.
-- Parameters: the record's topic, partition, offset, digest; redriven | dropped; the topic (without prefix) and the key's text
--   that it is sent again under (null where dropped); id of the decision, who decides, why.
-- Returns one row: ended (also: by this decision already) | not_open | not_found; the row's state now. Waits for the row's
--   lock. Index: rejected_requests' key.
create function end_rejected_v1(
  topic text, partition integer, record_offset bigint, record_digest bytea, verdict text, publish_on text, publish_as text,
  decision uuid, who text, why text)
returns table (outcome text, state text) language plpgsql as $$
#variable_conflict use_column
declare
  kept rejected_requests;
begin
  select r.* into kept from rejected_requests as r
  where r.origin_topic = topic and r.origin_partition = partition and r.origin_offset = record_offset
    and r.digest = record_digest for no key update;
  if kept.digest is null then
    return query select 'not_found', null::text;
  elsif kept.state = verdict and kept.decision_id = decision then
    return query select 'ended', kept.state;
  elsif kept.state <> 'open' then
    return query select 'not_open', kept.state;
  else
    update rejected_requests as r set state = verdict, decision_id = decision
    where r.origin_topic = topic and r.origin_partition = partition and r.origin_offset = record_offset
      and r.digest = record_digest;
    insert into outbox (shard, thread_id, topic, dedupe, record_count, value)
    select shard_of_v1(publish_as, i.shard_count), publish_as, publish_on,
           'redrive:' || topic || ':' || partition || ':' || record_offset || ':' || encode(record_digest, 'hex'), 1,
           kept.record_value
    from installation as i where verdict = 'redriven';
    insert into audit_log (actor, action, thread_id, detail)
    values (who, case verdict when 'redriven' then 'redrive' else 'drop' end, kept.thread_id,
            convert_to(json_build_object('decisionId', decision, 'topic', topic, 'partition', partition, 'offset', record_offset,
              'digest', encode(record_digest, 'hex'), 'turnId', kept.turn_id, 'reason', why)::text, 'UTF8'));
    return query select 'ended', verdict;
  end if;
end $$;
