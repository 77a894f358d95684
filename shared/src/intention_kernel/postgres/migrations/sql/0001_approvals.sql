-- Four eyes (design 7): which decisions need a second person, and the decisions that wait for one or did.

create table approval_rules (
  rule_id text collate "C" primary key,
  effects text[],
  tenants text[],
  classes text[],
  resolutions text[],
  least_amount numeric,
  currency text,
  window_closed boolean not null default false,
  expires_seconds double precision not null default 86400 check (expires_seconds > 0),
  enabled boolean not null default true,
  constraint approval_rules_amount_check check ((least_amount is null) = (currency is null))
);
comment on table approval_rules is 'A decision that meets every condition of an enabled rule needs a second person; null: any';

-- What a repeat would do twice once the provider has forgotten the key is not one person's to allow.
insert into approval_rules (rule_id, classes, resolutions, window_closed)
values ('key-window-closed', '{keyed}', '{not_applied}', true);

create table proposals (
  proposal_id text collate "C" primary key,
  id bigint not null generated always as identity,
  thread_id text collate "C" not null,
  effect_key text collate "C" not null,
  seen_version bigint not null,
  resolution text not null check (resolution in ('applied', 'not_applied')),
  value bytea,
  reference text,
  decision_id text collate "C" not null,
  reason_code text,
  reason bytea not null,
  evidence bytea,
  proposer text not null,
  workers_stopped boolean not null,
  decision_hash text not null,
  rules text[] not null,
  proposed_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  state text not null default 'proposed'
    check (state in ('proposed', 'approved', 'rejected', 'withdrawn', 'expired', 'overtaken')),
  closed_by text,
  closed_at timestamptz,
  closing_reason text
) with (fillfactor = 70);
comment on table proposals is 'A decision exactly as it will be written, and what became of it; changed under the lock of its receipt';
comment on column proposals.state is 'proposed also where its time is over or its receipt moved, until another takes its place: see proposal_state_v1';
-- One decision about a receipt waits at a time.
create unique index proposals_open_uq on proposals (thread_id, effect_key) where state = 'proposed';
-- Its last one, which alone may be open.
create index proposals_receipt_idx on proposals (thread_id, effect_key, id);
create index proposals_expiry_idx on proposals (expires_at) where state = 'proposed';

-- What was proposed is never edited: another value is another proposal.
create trigger proposals_append_only_trg before delete or update of
    proposal_id, thread_id, effect_key, seen_version, resolution, value, reference, decision_id, reason_code, reason, evidence,
    proposer, workers_stopped, decision_hash, rules, proposed_at on proposals
  for each row execute function refuse_change_v1();
