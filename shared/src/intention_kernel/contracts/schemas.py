"""JSON Schemas of every record and of the checkpoint: `python -m intention_kernel.contracts.schemas [FOLDER]` writes them.

The committed copies in `schemas/` are what others build against; a test fails when they drift from this module, and
others hold real records against them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from intention_kernel.contracts.checkpoint_schema import checkpoint_schema
from intention_kernel.contracts.event import EVENT_VERSION
from intention_kernel.contracts.resolution import ResolutionRecord
from intention_kernel.contracts.schema_parts import ANY, COUNT, ID, RECEIPT_ID, STATE, TIME, Schema, object_schema
from intention_kernel.contracts.turn_request import TurnRequest

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def all_schemas() -> dict[str, Schema]:
    """File name (without `.json`) to schema. What a later build may add is optional; a reader ignores what it does not know."""
    return {
        "turn-request.v1": _turn_request(),
        "kernel-event.v1": _event("A committed event on turns.events", {"sequence": COUNT}, ["sequence"]),
        "trace.v1": _event("A live event on turns.traces", {"attempt": {"type": "integer", "minimum": 0}}, ["attempt"]),
        "turn-completed.v1": _turn_completed(),
        "turn-failed.v1": _turn_failed(),
        "reconciliation-notice.v1": _notice(),
        "resolution.v1": _resolution(),
        "checkpoint.v1": checkpoint_schema(),
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


def _turn_request() -> Schema:
    schema: Schema = TurnRequest.model_json_schema(by_alias=True)
    return {**schema, "title": "A turn request on turns.requests; the record's key is threadId as UTF-8"}


def _event(title: str, numbering: Schema, required: list[str]) -> Schema:
    members: Schema = {
        "id": ID,
        "type": {**ID, "description": "docs/events.md lists ours; applications have types of their own"},
        "version": {"const": EVENT_VERSION},
        "occurredAt": TIME,
        "threadId": ID,
        "turnId": ID,
        "stepId": ID,
        **numbering,
        "correlationId": ID,
        "causationId": ID,
        "category": {"enum": ["trace", "audit", "integration"]},
        "data": ANY,
    }
    always = ["id", "type", "version", "occurredAt", "threadId", "turnId", "correlationId", "category", "data"]
    return object_schema(title, members, [*always, *required])


def _turn_completed() -> Schema:
    response = object_schema(
        "What the user is shown",
        {
            "message": {"type": "string"},
            "status": {"type": "string"},
            "claims": {"type": "array"},
            "interaction": ANY,
            "artifacts": {"type": "array"},
        },
        ["message", "status"],
    )
    members: Schema = {
        "revision": COUNT,
        "status": {"enum": ["completed", "blocked", "failed"]},
        "response": {"anyOf": [{"type": "null"}, response]},
        "blockedOn": {"type": "array", "items": RECEIPT_ID},
        "facts": {"type": "array", "items": {"type": "string"}},
        "replayed": {"type": "boolean"},
    }
    return object_schema("data of turn.completed and turn.replayed", members, list(members))


def _turn_failed() -> Schema:
    receipt = object_schema(
        "A receipt that the turn holds", {"receiptId": RECEIPT_ID, "state": STATE}, ["receiptId", "state"]
    )
    members: Schema = {
        "reason": {"type": "string"},
        "detail": {"type": ["string", "null"]},
        "attempts": COUNT,
        "receipts": {"type": "array", "items": receipt},
    }
    return object_schema("data of turn.failed", members, list(members))


def _notice() -> Schema:
    members: Schema = {
        "schemaVersion": {"const": 1},
        "receiptId": RECEIPT_ID,
        "threadId": ID,
        "turnId": ID,
        "tenantId": ID,
        "effect": {"type": "string"},
        "state": STATE,
        "settlement": {"type": "integer", "minimum": 0},
        "phase": {"enum": ["open", "decided", "done", "failed"]},
        "version": COUNT,
        "title": {"type": "string"},
        "occurredAt": TIME,
    }
    required = [name for name in members if name != "tenantId"]
    return object_schema("A notice on receipts.reconciliation", members, required)


def _resolution() -> Schema:
    schema: Schema = ResolutionRecord.model_json_schema(by_alias=True)
    return {**schema, "title": "A decision on receipts.resolutions; the record's key says nothing"}


if __name__ == "__main__":
    for path in write_schemas(Path(sys.argv[1] if len(sys.argv) > 1 else "schemas")):
        sys.stdout.write(f"{path}\n")
