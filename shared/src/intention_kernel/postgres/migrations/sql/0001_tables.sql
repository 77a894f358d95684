-- The tables of design 5. Keys of threads, turns, turn_journal, receipts, receipt_transitions and blocked_steps begin with
-- thread_id, so that the schema can be distributed by thread without change. Ids are text in C collation: their order is
-- the byte order that every lock is taken in (protocol R9). Whatever came from outside and is not an id is bytea (R13).

create table installation (
  only_row boolean primary key default true check (only_row),
  shard_count smallint not null check (shard_count between 1 and 1024),
  partition_count integer not null check (partition_count > 0),
  incarnation text not null,
  recoveries integer not null default 0,
  recovering boolean not null default false
);
comment on table installation is 'What is fixed at migration: shards of the relay (R35), partitions of the request topic; and what only a recovery changes: the incarnation in event headers, how many recoveries there were, whether one is unfinished (R39)';

create table threads (
  thread_id text collate "C" primary key,
  state text not null default 'live' check (state in ('live', 'deleted')),
  agent_id text collate "C",
  tenant_id text collate "C",
  revision bigint not null default 0,
  next_sequence bigint not null default 1,
  fingerprint text,
  schema_revision integer,
  checkpoint bytea,
  fence bigint not null default 0,
  lease_nonce uuid,
  lease_until timestamptz not null default '-infinity',
  turn_id text collate "C",
  turn_digest bytea,
  attempts integer not null default 0,
  crashes integer not null default 0,
  constraint threads_turn_in_progress_check check ((turn_id is null) = (turn_digest is null)),
  constraint threads_lease_check check (lease_nonce is null or turn_id is not null)
) with (fillfactor = 70, toast_tuple_target = 8160);
alter table threads alter column checkpoint set storage external;

create table turns (
  thread_id text collate "C" not null,
  turn_id text collate "C" not null,
  revision bigint not null,
  status text not null check (status in ('completed', 'blocked', 'failed')),
  digest bytea not null,
  request bytea not null,
  requested_at_ms bigint not null,
  result bytea not null,
  first_sequence bigint not null,
  event_count integer not null,
  events bytea not null,
  fence bigint not null,
  committed_at timestamptz not null default clock_timestamp(),
  primary key (thread_id, turn_id),
  -- Not (thread_id, revision): planned on empty tables, a look-up by turn would read all turns of its thread through it.
  constraint turns_revision_thread_uq unique (revision, thread_id)
) with (toast_tuple_target = 8160);
alter table turns alter column events set storage external;

create table turn_journal (
  thread_id text collate "C" not null,
  turn_id text collate "C" not null,
  entry text collate "C" not null,
  kind text not null check (kind in ('claim', 'outcome', 'recorded')),
  effect_key text collate "C",
  outcome text check (outcome in ('value', 'uncertain', 'failed')),
  request_digest bytea not null,
  body bytea not null,
  requested_at_ms bigint not null,
  position bigint not null generated always as identity,
  primary key (thread_id, turn_id, entry)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create table receipts (
  thread_id text collate "C" not null,
  effect_key text collate "C" not null,
  receipt_id text collate "C" not null,
  effect_id text collate "C" not null,
  turn_id text collate "C" not null,
  agent_id text collate "C" not null,
  tenant_id text collate "C",
  state text not null check (state in ('prepared', 'completed', 'failed', 'uncertain')),
  attempt integer not null check (attempt > 0),
  attempt_id uuid not null,
  fence bigint not null,
  fingerprint bytea not null,
  payload bytea not null,
  host_context bytea not null,
  value bytea,
  reference text,
  contradicted boolean not null default false,
  settlements integer not null default 0,
  version bigint not null default 1,
  title text not null,
  provider text,
  amount numeric,
  currency text,
  deduplicates boolean not null,
  key_window_seconds double precision,
  first_prepared_at timestamptz not null default clock_timestamp(),
  prepared_at timestamptz not null default clock_timestamp(),
  call_deadline timestamptz not null,
  returned_at timestamptz,
  instance text not null,
  boot uuid not null,
  retry_until timestamptz not null default '-infinity',
  recovery integer not null default 0,
  cause text not null,
  primary key (thread_id, effect_key),
  constraint receipts_receipt_id_uq unique (receipt_id),
  constraint receipts_value_check check (state <> 'completed' or value is not null)
) with (fillfactor = 70);
comment on column receipts.recovery is 'how many recoveries there had been when this attempt was prepared or found open: what becomes of it is known after them (R39)';
comment on column receipts.cause is 'which call made the last move; a trigger copies it into receipt_transitions';
-- Only what needs attention is indexed, so that nothing grows with settled receipts.
create index receipts_open_idx on receipts (thread_id, effect_key) where state in ('prepared', 'uncertain') or contradicted;

create table receipt_transitions (
  thread_id text collate "C" not null,
  effect_key text collate "C" not null,
  version bigint not null,
  from_state text,
  state text not null,
  attempt integer not null,
  contradicted boolean not null,
  settlements integer not null,
  cause text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (thread_id, effect_key, version)
);

create table blocked_steps (
  thread_id text collate "C" not null,
  effect_key text collate "C" not null,
  turn_id text collate "C" not null,
  revision bigint not null,
  primary key (thread_id, effect_key, turn_id)
);
comment on table blocked_steps is 'Who waits for a receipt: turn_id is the turn that first blocked, also while its continuations stay blocked (R30)';

create table outbox (
  shard smallint not null,
  id bigint not null generated always as identity (cache 1),
  thread_id text collate "C" not null,
  topic text not null,
  dedupe text collate "C" not null,
  first_sequence bigint,
  record_count integer not null,
  turn_id text collate "C",
  records bytea,
  value bytea,
  created_at timestamptz not null default clock_timestamp(),
  primary key (shard, id),
  constraint outbox_thread_topic_dedupe_uq unique (thread_id, topic, dedupe),
  constraint outbox_source_check check (num_nonnulls(turn_id, records, value) = 1)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
        autovacuum_vacuum_cost_delay = 0, toast_tuple_target = 8160);
comment on table outbox is 'What the broker has not acknowledged. topic is a name of interface 2 without prefix; dedupe the first sequence of events as text, else an id. One source: turn_id points at turns.events, records is a block like it, value is one record without headers, byte for byte (R35)';

create table outbox_refused (
  shard smallint not null,
  id bigint not null,
  thread_id text collate "C" not null,
  topic text not null,
  dedupe text collate "C" not null,
  reason text not null,
  refused_at timestamptz not null default clock_timestamp(),
  primary key (shard, id)
);
comment on table outbox_refused is 'Outbox rows that the broker refused: they leave the fetch window and stop that thread''s rows of that topic (R37)';

create table relay_leases (
  shard smallint primary key,
  owner text,
  epoch bigint not null default 0,
  expires_at timestamptz not null default '-infinity'
) with (fillfactor = 50);

create table relays (
  owner text primary key,
  seen_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

create table processes (
  instance text primary key,
  boot uuid not null,
  started_at timestamptz not null default clock_timestamp(),
  stopped_at timestamptz
);
comment on table processes is 'One row per runner instance: a newer boot or a clean stop proves that an older boot can send nothing any more (R22 c)';

create table partition_progress (
  topic text collate "C" not null,
  partition integer not null,
  done_offset bigint not null default 0,
  restore_until bigint not null default 0,
  primary key (topic, partition)
) with (fillfactor = 50);
comment on table partition_progress is 'Of the request topic: every record before done_offset has its row here, one before restore_until may have had another outcome in a database that is lost. Of the event topic: how far a recovery has read it (R39)';

create table reconciliation_items (
  thread_id text collate "C" not null,
  effect_key text collate "C" not null,
  settlement integer not null,
  kind text not null default 'effect' check (kind in ('effect', 'orphaned')),
  phase text not null default 'open' check (phase in ('open', 'decided', 'done', 'failed')),
  reason text not null,
  opened_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz,
  next_look_at timestamptz not null default clock_timestamp(),
  looks integer not null default 0,
  issue integer not null default 1,
  turn_id text collate "C",
  contradicted boolean not null default false,
  waiting integer not null default 0,
  key_closes_at timestamptz not null default 'infinity',
  primary key (thread_id, effect_key, settlement, kind)
) with (fillfactor = 70);
comment on column reconciliation_items.contradicted is 'with waiting (how many turns wait for the receipt) and key_closes_at (when its provider forgets the key): the order of the queue, kept by triggers so that a page is read from the index';
comment on column reconciliation_items.settlement is 'the number that the settlement of this item will have: receipts.settlements + 1 while open (R27)';
create index reconciliation_items_unfinished_idx on reconciliation_items (next_look_at) where phase in ('open', 'decided');
-- The order in which people see what is not done: no index grows with what is.
create index reconciliation_items_priority_idx on reconciliation_items (
  (not contradicted), (- waiting), key_closes_at, opened_at, thread_id, effect_key, settlement, kind) where phase <> 'done';

create table receipt_work (
  thread_id text collate "C" not null,
  effect_key text collate "C" not null,
  version bigint not null default 1,
  claimed_by text,
  claimed_until timestamptz not null default '-infinity',
  snoozed_until timestamptz not null default '-infinity',
  snoozed_answer text,
  primary key (thread_id, effect_key)
) with (fillfactor = 70);
comment on table receipt_work is 'Who works on a receipt and until when it is out of sight; a row once anybody did. version is what such work compares with, never the receipt''s: a resolver''s look moves no work';
comment on column receipt_work.snoozed_answer is 'what was observed last when it was snoozed until that changes; null where it is snoozed until a time';

create table receipt_notes (
  thread_id text collate "C" not null,
  effect_key text collate "C" not null,
  note_id text collate "C" not null,
  kind text not null check (kind in ('comment', 'link', 'ticket', 'quotation', 'digest')),
  actor text not null,
  body bytea not null,
  at timestamptz not null default clock_timestamp(),
  primary key (thread_id, effect_key, note_id)
);
comment on table receipt_notes is 'What people said about a receipt and what they have seen that shows it; appended only';

create table observations (
  thread_id text collate "C" not null,
  effect_key text collate "C" not null,
  settlement integer not null,
  id bigint generated always as identity,
  receipt_version bigint not null,
  source text not null,
  finding text not null check (finding in ('found', 'absent', 'inconclusive', 'error', 'late_answer', 'not_storable', 'contested')),
  detail bytea not null,
  value bytea,
  reference text,
  started_at timestamptz not null,
  at timestamptz not null default clock_timestamp(),
  primary key (thread_id, effect_key, id)
);

create table decisions (
  decision_id text collate "C" primary key,
  thread_id text collate "C" not null,
  effect_key text collate "C" not null,
  settlement integer not null,
  resolution text not null check (resolution in ('applied', 'not_applied')),
  value bytea,
  reference text,
  reason_code text,
  reason bytea not null,
  evidence bytea,
  actor text not null,
  at timestamptz not null default clock_timestamp()
);
create index decisions_receipt_idx on decisions (thread_id, effect_key);

create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  actor text not null,
  action text not null,
  thread_id text collate "C",
  effect_key text collate "C",
  operation_id text collate "C",
  detail bytea not null
);
comment on column audit_log.operation_id is 'of the caller, so that a repeat is known as one (R11)';
create index audit_log_receipt_idx on audit_log (thread_id, effect_key, id) where effect_key is not null;
create unique index audit_log_operation_uq on audit_log (operation_id) where operation_id is not null;

create table set_aside_turns (
  thread_id text collate "C" not null,
  turn_id text collate "C" not null,
  revision bigint not null,
  state text not null default 'open' check (state in ('open', 'redriven', 'dropped')),
  reason text not null,
  detail bytea not null,
  attempts integer not null,
  digest bytea not null,
  fence bigint not null,
  base_digest bytea,
  origin_topic text not null,
  origin_partition integer not null,
  origin_offset bigint not null,
  record_key bytea,
  record_value bytea,
  record_headers bytea not null,
  record_timestamp_ms bigint not null,
  decision_id uuid,
  at timestamptz not null default clock_timestamp(),
  primary key (thread_id, turn_id, revision)
);
comment on column set_aside_turns.base_digest is 'of the checkpoint that its journal was written on, null where there was none: a redrive on another keeps the claims alone (R33)';
comment on column set_aside_turns.decision_id is 'of the redrive or drop, so that a repeat is known as one (R11)';
create index set_aside_turns_at_idx on set_aside_turns (at);
create unique index set_aside_turns_open_uq on set_aside_turns (thread_id, turn_id) where state = 'open';

create table rejected_requests (
  origin_topic text not null,
  origin_partition integer not null,
  origin_offset bigint not null,
  digest bytea not null,
  thread_id text collate "C",
  turn_id text collate "C",
  reason text not null,
  detail bytea not null,
  record_key bytea,
  record_value bytea,
  record_headers bytea not null,
  record_timestamp_ms bigint not null,
  fence bigint,
  revision bigint,
  state text not null default 'open' check (state in ('open', 'redriven', 'dropped')),
  decision_id uuid,
  at timestamptz not null default clock_timestamp(),
  primary key (origin_topic, origin_partition, origin_offset, digest)
);
comment on column rejected_requests.fence is 'with revision: those of the fenced commit that rejected it, null for a record that no lane waited for (R5)';
create index rejected_requests_at_idx on rejected_requests (at);
