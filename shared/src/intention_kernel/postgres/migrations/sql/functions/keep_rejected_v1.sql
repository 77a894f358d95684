-- Purpose: insert a rejected record and its outbox row, once per origin and bytes (protocol R34).
-- Parameters: those of reject_request_v1. Returns: whether it was new. Indexes: rejected_requests' key; outbox's unique key.
create function keep_rejected_v1(
  thread text, turn text, why text, detail bytea, topic text, partition integer, record_offset bigint, digest bytea,
  record_key bytea, record_value bytea, record_headers bytea, record_time bigint, block bytea, publish_as text)
returns boolean language plpgsql as $$
begin
  insert into rejected_requests (origin_topic, origin_partition, origin_offset, digest, thread_id, turn_id, reason, detail,
    record_key, record_value, record_headers, record_timestamp_ms)
  values (topic, partition, record_offset, digest, thread, turn, why, detail, record_key, record_value, record_headers,
          record_time)
  on conflict do nothing;
  if not found then
    return false;
  end if;
  perform mark_restored_v1(thread, turn, topic, partition, record_offset, record_time);
  insert into outbox (shard, thread_id, topic, dedupe, record_count, records)
  select shard_of_v1(publish_as, i.shard_count), publish_as, 'turns.rejected',
         topic || ':' || partition || ':' || record_offset || ':' || encode(digest, 'hex'), 1, block
  from installation as i
  on conflict do nothing;
  return true;
end $$;
