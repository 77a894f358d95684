-- Purpose: the bank's own world. Safe to run at every start.
-- Parameters: none.

create table if not exists ledger (
  sequence  integer primary key autoincrement,
  op        text not null check (op in ('charge', 'reserve', 'notify')),
  thread_id text not null,
  key       text not null,
  attempt   integer not null check (attempt >= 1),
  payload   text not null,
  reference text not null unique
);

create index if not exists ledger_by_key on ledger (op, thread_id, key);

-- A notice is deduplicated; charges and reservations are not, so that a second call shows.
create unique index if not exists one_notice_a_key on ledger (thread_id, key) where op = 'notify';

create trigger if not exists ledger_is_never_updated before update on ledger
begin select raise(abort, 'the ledger is append-only'); end;

create trigger if not exists ledger_is_never_deleted before delete on ledger
begin select raise(abort, 'the ledger is append-only'); end;

create table if not exists calls (
  sequence  integer primary key autoincrement,
  op        text not null,
  thread_id text not null,
  key       text not null,
  attempt   integer not null,
  arrival   integer not null,
  faults    text not null
);

create index if not exists calls_by_key on calls (op, thread_id, key);

create table if not exists closed (
  thread_id text not null,
  key       text not null,
  attempt   integer not null,
  primary key (thread_id, key)
) without rowid;

create table if not exists faults (
  one    integer primary key check (one = 1),
  faults text not null
);
