-- Purpose: the relay's shard of a thread (protocol R35): the first two bytes of SHA-256 of its UTF-8, modulo the count.
-- Parameters: thread id, count of shards (installation.shard_count).
-- Returns: 0 to count - 1. Index: none.
create function shard_of_v1(thread text, shards integer) returns smallint language sql stable parallel safe as $$
  select ((get_byte(sha256(convert_to(thread, 'UTF8')), 0) * 256 + get_byte(sha256(convert_to(thread, 'UTF8')), 1))
          % shards)::smallint
$$;
