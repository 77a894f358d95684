"""JSON Schemas of every record and of the checkpoint: `python -m intention_kernel.contracts.schemas [FOLDER]` writes them.

The committed copies in `schemas/` are what others build against; a test fails when they drift from this module, and
others hold real records against them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from intention_kernel.contracts.checkpoint import MAX_FACTS, MAX_MESSAGES, SCHEMA_REVISION
from intention_kernel.contracts.event import EVENT_VERSION
from intention_kernel.contracts.turn_request import TurnRequest

Schema = dict[str, object]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_ID: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
_RECEIPT_ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_TIME: Schema = {"type": "string", "format": "date-time"}
_STATE: Schema = {"enum": ["prepared", "completed", "failed", "uncertain"]}
_COUNT: Schema = {"type": "integer", "minimum": 1}
_ANY: Schema = {}


def all_schemas() -> dict[str, Schema]:
    """File name (without `.json`) to schema. What a later build may add is optional; a reader ignores what it does not know."""
    return {
        "turn-request.v1": _turn_request(),
        "kernel-event.v1": _event("A committed event on turns.events", {"sequence": _COUNT}, ["sequence"]),
        "trace.v1": _event("A live event on turns.traces", {"attempt": {"type": "integer", "minimum": 0}}, ["attempt"]),
        "turn-completed.v1": _turn_completed(),
        "turn-failed.v1": _turn_failed(),
        "reconciliation-notice.v1": _notice(),
        "resolution.v1": _resolution(),
        "checkpoint.v1": _checkpoint(),
    }


def schema_text(name: str, schema: Schema) -> str:
    """The committed file's text."""
    document = {"$schema": DIALECT, "$id": f"urn:intention-kernel:schema:{name}", **schema}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def write_schemas(folder: Path) -> list[Path]:
    """Write every schema into `folder`; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, schema in all_schemas().items():
        path = folder / f"{name}.json"
        path.write_text(schema_text(name, schema), encoding="utf-8")
        written.append(path)
    return written


def _object(title: str, members: Schema, required: list[str], *, closed: bool = False) -> Schema:
    schema: Schema = {"title": title, "type": "object", "properties": members, "required": required}
    return {**schema, "additionalProperties": False} if closed else schema


def _turn_request() -> Schema:
    schema: Schema = TurnRequest.model_json_schema(by_alias=True)
    return {**schema, "title": "A turn request on turns.requests; the record's key is threadId as UTF-8"}


def _event(title: str, numbering: Schema, required: list[str]) -> Schema:
    members: Schema = {
        "id": _ID,
        "type": _ID,
        "version": {"const": EVENT_VERSION},
        "occurredAt": _TIME,
        "threadId": _ID,
        "turnId": _ID,
        "stepId": _ID,
        **numbering,
        "correlationId": _ID,
        "causationId": _ID,
        "category": {"enum": ["trace", "audit", "integration"]},
        "data": _ANY,
    }
    always = ["id", "type", "version", "occurredAt", "threadId", "turnId", "correlationId", "category", "data"]
    return _object(title, members, [*always, *required])


def _turn_completed() -> Schema:
    response = _object(
        "What the user is shown",
        {
            "message": {"type": "string"},
            "status": {"type": "string"},
            "claims": {"type": "array"},
            "interaction": _ANY,
            "artifacts": {"type": "array"},
        },
        ["message", "status"],
    )
    members: Schema = {
        "revision": _COUNT,
        "status": {"enum": ["completed", "blocked", "failed"]},
        "response": {"anyOf": [{"type": "null"}, response]},
        "blockedOn": {"type": "array", "items": _RECEIPT_ID},
        "facts": {"type": "array", "items": {"type": "string"}},
        "replayed": {"type": "boolean"},
    }
    return _object("data of turn.completed and turn.replayed", members, list(members))


def _turn_failed() -> Schema:
    receipt = _object(
        "A receipt that the turn holds", {"receiptId": _RECEIPT_ID, "state": _STATE}, ["receiptId", "state"]
    )
    members: Schema = {
        "reason": {"type": "string"},
        "detail": {"type": ["string", "null"]},
        "attempts": _COUNT,
        "receipts": {"type": "array", "items": receipt},
    }
    return _object("data of turn.failed", members, list(members))


def _notice() -> Schema:
    members: Schema = {
        "schemaVersion": {"const": 1},
        "receiptId": _RECEIPT_ID,
        "threadId": _ID,
        "turnId": _ID,
        "tenantId": _ID,
        "effect": {"type": "string"},
        "state": _STATE,
        "settlement": {"type": "integer", "minimum": 0},
        "phase": {"enum": ["open", "decided", "done", "failed"]},
        "version": _COUNT,
        "title": {"type": "string"},
        "occurredAt": _TIME,
    }
    required = [name for name in members if name != "tenantId"]
    return _object("A notice on receipts.reconciliation", members, required)


def _resolution() -> Schema:
    members: Schema = {
        "schemaVersion": {"const": 1},
        "decisionId": _ID,
        "receiptId": _RECEIPT_ID,
        "expectedVersion": _COUNT,
        "resolution": {"enum": ["applied", "not_applied"]},
        "value": _ANY,
        "reference": {"type": "string"},
        "reason": {"type": "string"},
        "actor": {"type": "string", "minLength": 1},
    }
    required = [name for name in members if name not in {"value", "reference"}]
    return _object("A decision on receipts.resolutions", members, required, closed=True)


def _checkpoint() -> Schema:
    record: Schema = {"type": "object"}
    members: Schema = {
        "schemaRevision": {"const": SCHEMA_REVISION},
        "agentId": _ID,
        "fingerprint": {"type": "string"},
        "messages": {"type": "array", "maxItems": MAX_MESSAGES, "items": record},
        "facts": {"type": "object", "maxProperties": MAX_FACTS, "additionalProperties": record},
        "agenda": {"type": "array", "items": record},
        "interaction": _ANY,
        "receipts": {"type": "array", "items": record},
    }
    return _object("A thread's checkpoint, as the database keeps it", members, list(members))


if __name__ == "__main__":
    for path in write_schemas(Path(sys.argv[1] if len(sys.argv) > 1 else "schemas")):
        sys.stdout.write(f"{path}\n")
