-- Who may work the queue (design 7): users, their roles, tokens and sessions. Secrets are here as hashes only. Users and
-- tokens are never deleted, so that every name in the audit log stays somebody's.

create table roles (
  name text collate "C" primary key,
  permissions text[] not null check (permissions <@ array[
    'receipts:read', 'receipts:work', 'receipts:resolve', 'receipts:approve', 'payload:reveal', 'turns:read', 'turns:redrive',
    'audit:export', 'users:manage', 'rules:manage'])
);
comment on table roles is 'Named sets of permissions. Data: an installation may change them and add others; a change counts from the next request on';
insert into roles (name, permissions) values
  ('viewer', array['receipts:read', 'turns:read']),
  ('operator', array['receipts:read', 'turns:read', 'receipts:work', 'receipts:resolve', 'payload:reveal', 'turns:redrive', 'audit:export']),
  ('approver', array['receipts:read', 'turns:read', 'receipts:approve', 'payload:reveal', 'audit:export']),
  ('admin', array['receipts:read', 'receipts:work', 'receipts:resolve', 'receipts:approve', 'payload:reveal', 'turns:read', 'turns:redrive',
    'audit:export', 'users:manage', 'rules:manage']);

create table users (
  name text collate "C" primary key check (name ~ '^[a-z0-9][a-z0-9._@+-]{0,99}$'),
  roles text[] not null,
  tenants text[],
  effects text[],
  disabled boolean not null default false,
  password_hash text,
  created_at timestamptz not null default clock_timestamp()
);
comment on column users.tenants is 'with effects: what of the queue is within reach, null for all of it';
comment on column users.password_hash is 'argon2''s encoded form; null for who signs in with tokens only';

create table sessions (
  secret_hash bytea primary key,
  user_name text collate "C" not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
comment on column sessions.secret_hash is 'SHA-256 of the cookie';
create index sessions_user_idx on sessions (user_name);
create index sessions_expires_idx on sessions (expires_at);

create table tokens (
  token_id text collate "C" primary key,
  user_name text collate "C" not null,
  label text not null,
  prefix text not null,
  secret_hash bytea not null,
  permissions text[],
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  last_used_at timestamptz,
  constraint tokens_secret_hash_uq unique (secret_hash)
) with (fillfactor = 70);
comment on column tokens.prefix is 'of the secret, by which people recognise it';
comment on column tokens.permissions is 'at most these of its user''s; null for all that its user has at the moment of use';
create index tokens_user_idx on tokens (user_name);
