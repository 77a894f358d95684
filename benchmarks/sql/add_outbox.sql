-- Purpose: what a relay has to publish. Parameters: thread, first sequence, count of events, turn. Returns: nothing. Index: outbox's key.
insert into outbox (shard, thread_id, topic, first_sequence, record_count, turn_id)
values ((hashtext($1) & 63)::smallint, $1, 'turns.events', $2, $3, $4)
