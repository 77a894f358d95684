"""The tables as SQLAlchemy Core sees them: for queries that are composed, and to be compared with the migrations.

The migrations' SQL is the truth; it also has the check constraints, storage parameters, triggers and functions.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.types import TypeEngine

METADATA = MetaData()
ID = Text(collation="C")
TIME = DateTime(timezone=True)
TEXTS = ARRAY(Text)


def _column(
    name: str,
    kind: TypeEngine[Any] | type[TypeEngine[Any]],
    *,
    key: bool = False,
    nullable: bool = False,
    default: str | None = None,
    numbered: bool = False,
) -> Column[Any]:
    """`default` is SQL; `numbered` says that the database counts."""
    generated = (Identity(always=True),) if numbered else ()
    server_default = None if default is None else text(default)
    return Column(
        name,
        kind,
        *generated,
        primary_key=key,
        nullable=nullable,
        server_default=server_default,
        autoincrement=numbered,
    )


installation = Table(
    "installation",
    METADATA,
    _column("only_row", Boolean, key=True, default="true"),
    _column("shard_count", SmallInteger),
    _column("partition_count", Integer),
    _column("incarnation", Text),
    _column("recoveries", Integer, default="0"),
    _column("recovering", Boolean, default="false"),
)

threads = Table(
    "threads",
    METADATA,
    _column("thread_id", ID, key=True),
    _column("state", Text, default="'live'"),
    _column("agent_id", ID, nullable=True),
    _column("tenant_id", ID, nullable=True),
    _column("revision", BigInteger, default="0"),
    _column("next_sequence", BigInteger, default="1"),
    _column("fingerprint", Text, nullable=True),
    _column("schema_revision", Integer, nullable=True),
    _column("checkpoint", LargeBinary, nullable=True),
    _column("fence", BigInteger, default="0"),
    _column("lease_nonce", Uuid, nullable=True),
    _column("lease_until", TIME, default="'-infinity'"),
    _column("turn_id", ID, nullable=True),
    _column("turn_digest", LargeBinary, nullable=True),
    _column("attempts", Integer, default="0"),
    _column("crashes", Integer, default="0"),
)

turns = Table(
    "turns",
    METADATA,
    _column("thread_id", ID, key=True),
    _column("turn_id", ID, key=True),
    _column("revision", BigInteger),
    _column("status", Text),
    _column("digest", LargeBinary),
    _column("request", LargeBinary),
    _column("requested_at_ms", BigInteger),
    _column("result", LargeBinary),
    _column("first_sequence", BigInteger),
    _column("event_count", Integer),
    _column("events", LargeBinary),
    _column("fence", BigInteger),
    _column("committed_at", TIME, default="clock_timestamp()"),
    UniqueConstraint("revision", "thread_id", name="turns_revision_thread_uq"),
)

turn_journal = Table(
    "turn_journal",
    METADATA,
    _column("thread_id", ID, key=True),
    _column("turn_id", ID, key=True),
    _column("entry", ID, key=True),
    _column("kind", Text),
    _column("effect_key", ID, nullable=True),
    _column("outcome", Text, nullable=True),
    _column("request_digest", LargeBinary),
    _column("body", LargeBinary),
    _column("requested_at_ms", BigInteger),
    _column("position", BigInteger, numbered=True),
)

receipts = Table(
    "receipts",
    METADATA,
    _column("thread_id", ID, key=True),
    _column("effect_key", ID, key=True),
    _column("receipt_id", ID),
    _column("effect_id", ID),
    _column("turn_id", ID),
    _column("agent_id", ID),
    _column("tenant_id", ID, nullable=True),
    _column("state", Text),
    _column("attempt", Integer),
    _column("attempt_id", Uuid),
    _column("fence", BigInteger),
    _column("fingerprint", LargeBinary),
    _column("payload", LargeBinary),
    _column("host_context", LargeBinary),
    _column("value", LargeBinary, nullable=True),
    _column("reference", Text, nullable=True),
    _column("contradicted", Boolean, default="false"),
    _column("settlements", Integer, default="0"),
    _column("version", BigInteger, default="1"),
    _column("title", Text),
    _column("provider", Text, nullable=True),
    _column("amount", Numeric, nullable=True),
    _column("currency", Text, nullable=True),
    _column("deduplicates", Boolean),
    _column("key_window_seconds", Double, nullable=True),
    _column("first_prepared_at", TIME, default="clock_timestamp()"),
    _column("prepared_at", TIME, default="clock_timestamp()"),
    _column("call_deadline", TIME),
    _column("returned_at", TIME, nullable=True),
    _column("instance", Text),
    _column("boot", Uuid),
    _column("retry_until", TIME, default="'-infinity'"),
    _column("recovery", Integer, default="0"),
    _column("cause", Text),
    UniqueConstraint("receipt_id", name="receipts_receipt_id_uq"),
    Index(
        "receipts_open_idx",
        "thread_id",
        "effect_key",
        postgresql_where=text("state in ('prepared', 'uncertain') or contradicted"),
    ),
)

receipt_transitions = Table(
    "receipt_transitions",
    METADATA,
    _column("thread_id", ID, key=True),
    _column("effect_key", ID, key=True),
    _column("version", BigInteger, key=True),
    _column("from_state", Text, nullable=True),
    _column("state", Text),
    _column("attempt", Integer),
    _column("contradicted", Boolean),
    _column("settlements", Integer),
    _column("cause", Text),
    _column("at", TIME, default="clock_timestamp()"),
)

blocked_steps = Table(
    "blocked_steps",
    METADATA,
    _column("thread_id", ID, key=True),
    _column("effect_key", ID, key=True),
    _column("turn_id", ID, key=True),
    _column("revision", BigInteger),
)

outbox = Table(
    "outbox",
    METADATA,
    _column("shard", SmallInteger),
    _column("id", BigInteger, numbered=True),
    _column("thread_id", ID),
    _column("topic", Text),
    _column("dedupe", ID),
    _column("first_sequence", BigInteger, nullable=True),
    _column("record_count", Integer),
    _column("turn_id", ID, nullable=True),
    _column("records", LargeBinary, nullable=True),
    _column("value", LargeBinary, nullable=True),
    _column("created_at", TIME, default="clock_timestamp()"),
    UniqueConstraint("thread_id", "topic", "dedupe", name="outbox_thread_topic_dedupe_uq"),
    PrimaryKeyConstraint("shard", "id"),
)

outbox_refused = Table(
    "outbox_refused",
    METADATA,
    _column("shard", SmallInteger, key=True),
    _column("id", BigInteger, key=True),
    _column("thread_id", ID),
    _column("topic", Text),
    _column("dedupe", ID),
    _column("reason", Text),
    _column("refused_at", TIME, default="clock_timestamp()"),
)

relay_leases = Table(
    "relay_leases",
    METADATA,
    _column("shard", SmallInteger, key=True),
    _column("owner", Text, nullable=True),
    _column("epoch", BigInteger, default="0"),
    _column("expires_at", TIME, default="'-infinity'"),
)

relays = Table(
    "relays",
    METADATA,
    _column("owner", Text, key=True),
    _column("seen_at", TIME, default="clock_timestamp()"),
)

processes = Table(
    "processes",
    METADATA,
    _column("instance", Text, key=True),
    _column("boot", Uuid),
    _column("started_at", TIME, default="clock_timestamp()"),
    _column("stopped_at", TIME, nullable=True),
)

partition_progress = Table(
    "partition_progress",
    METADATA,
    _column("topic", ID, key=True),
    _column("partition", Integer, key=True),
    _column("done_offset", BigInteger, default="0"),
    _column("restore_until", BigInteger, default="0"),
)

reconciliation_items = Table(
    "reconciliation_items",
    METADATA,
    _column("thread_id", ID, key=True),
    _column("effect_key", ID, key=True),
    _column("settlement", Integer, key=True),
    _column("kind", Text, key=True, default="'effect'"),
    _column("phase", Text, default="'open'"),
    _column("reason", Text),
    _column("opened_at", TIME, default="clock_timestamp()"),
    _column("closed_at", TIME, nullable=True),
    _column("next_look_at", TIME, default="clock_timestamp()"),
    _column("looks", Integer, default="0"),
    _column("issue", Integer, default="1"),
    _column("turn_id", ID, nullable=True),
    _column("contradicted", Boolean, default="false"),
    _column("waiting", Integer, default="0"),
    _column("key_closes_at", TIME, default="'infinity'"),
    Index("reconciliation_items_unfinished_idx", "next_look_at", postgresql_where=text("phase in ('open', 'decided')")),
    Index(
        "reconciliation_items_priority_idx",
        text("(not contradicted)"),
        text("(- waiting)"),
        "key_closes_at",
        "opened_at",
        "thread_id",
        "effect_key",
        "settlement",
        "kind",
        postgresql_where=text("phase <> 'done'"),
    ),
)

receipt_work = Table(
    "receipt_work",
    METADATA,
    _column("thread_id", ID, key=True),
    _column("effect_key", ID, key=True),
    _column("version", BigInteger, default="1"),
    _column("claimed_by", Text, nullable=True),
    _column("claimed_until", TIME, default="'-infinity'"),
    _column("snoozed_until", TIME, default="'-infinity'"),
    _column("snoozed_answer", Text, nullable=True),
)

receipt_notes = Table(
    "receipt_notes",
    METADATA,
    _column("thread_id", ID, key=True),
    _column("effect_key", ID, key=True),
    _column("note_id", ID, key=True),
    _column("kind", Text),
    _column("actor", Text),
    _column("body", LargeBinary),
    _column("at", TIME, default="clock_timestamp()"),
)

observations = Table(
    "observations",
    METADATA,
    _column("thread_id", ID),
    _column("effect_key", ID),
    _column("settlement", Integer),
    _column("id", BigInteger, numbered=True),
    _column("receipt_version", BigInteger),
    _column("source", Text),
    _column("finding", Text),
    _column("detail", LargeBinary),
    _column("value", LargeBinary, nullable=True),
    _column("reference", Text, nullable=True),
    _column("started_at", TIME),
    _column("at", TIME, default="clock_timestamp()"),
    PrimaryKeyConstraint("thread_id", "effect_key", "id"),
)

decisions = Table(
    "decisions",
    METADATA,
    _column("decision_id", ID, key=True),
    _column("thread_id", ID),
    _column("effect_key", ID),
    _column("settlement", Integer),
    _column("resolution", Text),
    _column("value", LargeBinary, nullable=True),
    _column("reference", Text, nullable=True),
    _column("reason_code", Text, nullable=True),
    _column("reason", LargeBinary),
    _column("evidence", LargeBinary, nullable=True),
    _column("actor", Text),
    _column("at", TIME, default="clock_timestamp()"),
    Index("decisions_receipt_idx", "thread_id", "effect_key"),
)

approval_rules = Table(
    "approval_rules",
    METADATA,
    _column("rule_id", ID, key=True),
    _column("effects", ARRAY(Text), nullable=True),
    _column("tenants", ARRAY(Text), nullable=True),
    _column("classes", ARRAY(Text), nullable=True),
    _column("resolutions", ARRAY(Text), nullable=True),
    _column("least_amount", Numeric, nullable=True),
    _column("currency", Text, nullable=True),
    _column("window_closed", Boolean, default="false"),
    _column("expires_seconds", Double, default="86400"),
    _column("enabled", Boolean, default="true"),
)

proposals = Table(
    "proposals",
    METADATA,
    _column("proposal_id", ID, key=True),
    _column("id", BigInteger, numbered=True),
    _column("thread_id", ID),
    _column("effect_key", ID),
    _column("seen_version", BigInteger),
    _column("resolution", Text),
    _column("value", LargeBinary, nullable=True),
    _column("reference", Text, nullable=True),
    _column("decision_id", ID),
    _column("reason_code", Text, nullable=True),
    _column("reason", LargeBinary),
    _column("evidence", LargeBinary, nullable=True),
    _column("proposer", Text),
    _column("workers_stopped", Boolean),
    _column("decision_hash", Text),
    _column("rules", ARRAY(Text)),
    _column("proposed_at", TIME, default="clock_timestamp()"),
    _column("expires_at", TIME),
    _column("state", Text, default="'proposed'"),
    _column("closed_by", Text, nullable=True),
    _column("closed_at", TIME, nullable=True),
    _column("closing_reason", Text, nullable=True),
    Index("proposals_open_uq", "thread_id", "effect_key", unique=True, postgresql_where=text("state = 'proposed'")),
    Index("proposals_receipt_idx", "thread_id", "effect_key", "id"),
    Index("proposals_expiry_idx", "expires_at", postgresql_where=text("state = 'proposed'")),
)

audit_log = Table(
    "audit_log",
    METADATA,
    _column("id", BigInteger, numbered=True, key=True),
    _column("at", TIME, default="clock_timestamp()"),
    _column("actor", Text),
    _column("action", Text),
    _column("thread_id", ID, nullable=True),
    _column("effect_key", ID, nullable=True),
    _column("operation_id", ID, nullable=True),
    _column("detail", LargeBinary),
    Index("audit_log_receipt_idx", "thread_id", "effect_key", "id", postgresql_where=text("effect_key is not null")),
    Index("audit_log_operation_uq", "operation_id", unique=True, postgresql_where=text("operation_id is not null")),
)

set_aside_turns = Table(
    "set_aside_turns",
    METADATA,
    _column("thread_id", ID, key=True),
    _column("turn_id", ID, key=True),
    _column("revision", BigInteger, key=True),
    _column("state", Text, default="'open'"),
    _column("reason", Text),
    _column("detail", LargeBinary),
    _column("attempts", Integer),
    _column("digest", LargeBinary),
    _column("fence", BigInteger),
    _column("base_digest", LargeBinary, nullable=True),
    _column("origin_topic", Text),
    _column("origin_partition", Integer),
    _column("origin_offset", BigInteger),
    _column("record_key", LargeBinary, nullable=True),
    _column("record_value", LargeBinary, nullable=True),
    _column("record_headers", LargeBinary),
    _column("record_timestamp_ms", BigInteger),
    _column("decision_id", Uuid, nullable=True),
    _column("at", TIME, default="clock_timestamp()"),
    Index("set_aside_turns_at_idx", "at"),
    Index("set_aside_turns_open_uq", "thread_id", "turn_id", unique=True, postgresql_where=text("state = 'open'")),
)

rejected_requests = Table(
    "rejected_requests",
    METADATA,
    _column("origin_topic", Text, key=True),
    _column("origin_partition", Integer, key=True),
    _column("origin_offset", BigInteger, key=True),
    _column("digest", LargeBinary, key=True),
    _column("thread_id", ID, nullable=True),
    _column("turn_id", ID, nullable=True),
    _column("reason", Text),
    _column("detail", LargeBinary),
    _column("record_key", LargeBinary, nullable=True),
    _column("record_value", LargeBinary, nullable=True),
    _column("record_headers", LargeBinary),
    _column("record_timestamp_ms", BigInteger),
    _column("fence", BigInteger, nullable=True),
    _column("revision", BigInteger, nullable=True),
    _column("state", Text, default="'open'"),
    _column("decision_id", Uuid, nullable=True),
    _column("at", TIME, default="clock_timestamp()"),
    Index("rejected_requests_at_idx", "at"),
)

roles = Table(
    "roles",
    METADATA,
    _column("name", ID, key=True),
    _column("permissions", TEXTS),
)

users = Table(
    "users",
    METADATA,
    _column("name", ID, key=True),
    _column("roles", TEXTS),
    _column("tenants", TEXTS, nullable=True),
    _column("effects", TEXTS, nullable=True),
    _column("disabled", Boolean, default="false"),
    _column("password_hash", Text, nullable=True),
    _column("created_at", TIME, default="clock_timestamp()"),
)

sessions = Table(
    "sessions",
    METADATA,
    _column("secret_hash", LargeBinary, key=True),
    _column("user_name", ID),
    _column("created_at", TIME, default="clock_timestamp()"),
    _column("expires_at", TIME),
    Index("sessions_user_idx", "user_name"),
    Index("sessions_expires_idx", "expires_at"),
)

tokens = Table(
    "tokens",
    METADATA,
    _column("token_id", ID, key=True),
    _column("user_name", ID),
    _column("label", Text),
    _column("prefix", Text),
    _column("secret_hash", LargeBinary),
    _column("permissions", TEXTS, nullable=True),
    _column("created_at", TIME, default="clock_timestamp()"),
    _column("expires_at", TIME),
    _column("revoked_at", TIME, nullable=True),
    _column("last_used_at", TIME, nullable=True),
    UniqueConstraint("secret_hash", name="tokens_secret_hash_uq"),
    Index("tokens_user_idx", "user_name"),
)
