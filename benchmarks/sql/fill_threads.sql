-- The threads of receipts $1 to $2, at rest.
insert into threads (thread_id, agent_id, tenant_id, revision, fence, next_sequence)
select 'thread-' || n, 'agent-' || n % 3, 'tenant-' || n % 50, 1, 1, 10 from generate_series($1::bigint, $2::bigint) as n
