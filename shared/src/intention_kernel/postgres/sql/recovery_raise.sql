-- Purpose: sequences go on above what the event topic has (protocol R39), and rows that are on the topic leave the outbox, so
--   that no relay meets a gap. Idempotent; the place up to which the topic was read is stored with it.
-- Parameters: $1 event topic, $2 partition, $3 the offset up to which it was read; side by side $4 threads, $5 the last sequence
--   of each. Returns: how many threads were raised. Indexes: the keys of threads, partition_progress; outbox_thread_topic_dedupe_uq.
with seen as (
  select thread_id, last from unnest($4::text[], $5::bigint[]) as s (thread_id, last)
), raised as (
  insert into threads as t (thread_id, next_sequence) select s.thread_id, s.last + 1 from seen as s order by s.thread_id collate "C"
  on conflict (thread_id) do update set next_sequence = excluded.next_sequence where t.next_sequence < excluded.next_sequence
  returning true
), published as (
  delete from outbox as o using seen as s
  where o.thread_id = s.thread_id and o.topic = 'turns.events' and o.first_sequence + o.record_count - 1 <= s.last
), place as (
  insert into partition_progress as p (topic, partition, done_offset) values ($1::text, $2::integer, $3::bigint)
  on conflict (topic, partition) do update set done_offset = excluded.done_offset
)
select count(*) from raised
