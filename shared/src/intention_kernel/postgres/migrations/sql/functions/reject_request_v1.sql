-- Purpose: keep a record that no lane waits for, and publish it, once (protocol R7, R34). A thread's head is locked first.
-- Parameters: thread and turn (null where the record does not say), reason, detail; the record's topic, partition, offset,
--   digest, key, value, headers, timestamp; the block to publish; the key to publish it under.
-- Returns: whether it was new. Waits for locks. Indexes: the keys of threads and rejected_requests; outbox's unique key.
create function reject_request_v1(
  thread text, turn text, why text, detail bytea, topic text, partition integer, record_offset bigint, digest bytea,
  record_key bytea, record_value bytea, record_headers bytea, record_time bigint, block bytea, publish_as text)
returns boolean language plpgsql as $$
begin
  perform from threads as t where t.thread_id = thread for no key update;
  return keep_rejected_v1(thread, turn, why, detail, topic, partition, record_offset, digest, record_key, record_value,
                          record_headers, record_time, block, publish_as);
end $$;
