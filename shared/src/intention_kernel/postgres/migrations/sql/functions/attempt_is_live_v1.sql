-- Purpose: does the attempt that began with this fence hold the thread now (protocol R27)?
-- Parameters: thread id, fence. Returns: true or false. Index: threads' key.
create function attempt_is_live_v1(thread text, fence_number bigint) returns boolean language sql volatile as $$
  select exists (
    select from threads as t
    where t.thread_id = thread and t.fence = fence_number and t.lease_nonce is not null
      and t.lease_until > clock_timestamp())
$$;
