-- Purpose: the tables of the hand-written boundary: the same columns as ours where a turn by hand has them, stored the same way.
-- Parameters, returns, indexes: none.
create table threads (
  thread_id text collate "C" primary key,
  agent_id text collate "C",
  tenant_id text collate "C",
  revision bigint not null default 0,
  next_sequence bigint not null default 1,
  fingerprint text,
  schema_revision integer,
  checkpoint bytea,
  lease_until timestamptz not null default '-infinity',
  turn_id text collate "C"
) with (fillfactor = 70, toast_tuple_target = 8160);
alter table threads alter column checkpoint set storage external;

create table turns (
  thread_id text collate "C" not null,
  turn_id text collate "C" not null,
  revision bigint not null,
  status text not null,
  digest bytea not null,
  request bytea not null,
  requested_at_ms bigint not null,
  result bytea not null,
  first_sequence bigint not null,
  event_count integer not null,
  events bytea not null,
  committed_at timestamptz not null default clock_timestamp(),
  primary key (thread_id, turn_id)
) with (toast_tuple_target = 8160);
alter table turns alter column events set storage external;

create table turn_journal (
  thread_id text collate "C" not null,
  turn_id text collate "C" not null,
  entry text collate "C" not null,
  request_digest bytea not null,
  body bytea not null,
  primary key (thread_id, turn_id, entry)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create table receipts (
  thread_id text collate "C" not null,
  effect_key text collate "C" not null,
  receipt_id text collate "C" not null unique,
  effect_id text collate "C" not null,
  turn_id text collate "C" not null,
  agent_id text collate "C" not null,
  tenant_id text collate "C",
  state text not null,
  attempt_id uuid not null,
  fingerprint bytea not null,
  payload bytea not null,
  host_context bytea not null,
  value bytea,
  title text not null,
  prepared_at timestamptz not null default clock_timestamp(),
  call_deadline timestamptz not null,
  returned_at timestamptz,
  primary key (thread_id, effect_key)
) with (fillfactor = 70);

create table outbox (
  shard smallint not null,
  id bigint not null generated always as identity (cache 1),
  thread_id text collate "C" not null,
  topic text not null,
  first_sequence bigint not null,
  record_count integer not null,
  turn_id text collate "C" not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (shard, id)
);
