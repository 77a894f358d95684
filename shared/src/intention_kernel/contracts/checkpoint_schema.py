"""The JSON Schema of a checkpoint: what a compiled agent keeps is generated from the models that read and write it."""

from __future__ import annotations

from typing import Literal, cast

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.checkpoint import MAX_FACTS, MAX_MESSAGES, SCHEMA_REVISION
from intention_kernel.contracts.facts import FactRecord
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.schema_parts import ANY, COUNT, ID, RECEIPT_ID, STATE, TIME, Schema, object_schema


def checkpoint_schema() -> Schema:
    """Of every thread, whether its agent is a Program or compiled."""
    facts: Schema = {"anyOf": [{"$ref": "#/$defs/FactRecord"}, _program_fact()]}
    items: Schema = {"anyOf": [{"$ref": "#/$defs/AgendaItem"}, _program_item()]}
    members: Schema = {
        "schemaRevision": {"const": SCHEMA_REVISION},
        "agentId": ID,
        "fingerprint": {"type": "string"},
        "messages": {"type": "array", "maxItems": MAX_MESSAGES, "items": _message()},
        "facts": {"type": "object", "maxProperties": MAX_FACTS, "additionalProperties": facts},
        "agenda": {"type": "array", "items": items},
        "interaction": {"anyOf": [{"$ref": "#/$defs/Interaction"}, {"type": "null"}]},
        "receipts": {"type": "array", "items": _kept_receipt()},
    }
    schema = object_schema("A thread's checkpoint, as the database keeps it", members, list(members))
    return {**schema, "$defs": _stored_models()}


def _message() -> Schema:
    members: Schema = {
        "role": {"enum": ["user", "assistant"]},
        "text": {"type": "string"},
        "turnId": ID,
        "at": TIME,
        "index": {"type": "integer", "minimum": 0, "description": "Counts all messages that the thread ever had"},
        "modelText": {"type": "string", "description": "What models read in the text's place"},
    }
    required = [name for name in members if name != "modelText"]
    return object_schema("A message; those before the window are in `turns`", members, required)


def _program_fact() -> Schema:
    members: Schema = {
        "type": {"type": "string"},
        "value": ANY,
        "version": COUNT,
        "turnId": ID,
        "at": TIME,
        "evidence": {"type": "array", "items": RECEIPT_ID},
    }
    return object_schema("A fact of a Program: its version counts the values that it had", members, list(members))


def _program_item() -> Schema:
    members: Schema = {
        "id": ID,
        "kind": {"const": "effect"},
        "status": {"const": "blocked"},
        "turnId": ID,
        "effectKey": {"type": "string"},
        "receiptId": RECEIPT_ID,
        "title": {"type": "string"},
    }
    return object_schema("A step of a Program that waits for a receipt", members, list(members))


def _kept_receipt() -> Schema:
    members: Schema = {
        "receiptId": RECEIPT_ID,
        "effectKey": {"type": "string"},
        "state": STATE,
        "attempt": COUNT,
        "turnId": ID,
    }
    return object_schema("A receipt as the turn saw it", members, list(members))


def _stored_models() -> Schema:
    """What a compiled agent keeps, as its models have it; nothing of their documentation, which is for readers of the code."""
    models: list[tuple[type[BaseModel], Literal["validation"]]]
    models = [(model, "validation") for model in (AgendaItem, FactRecord, Interaction)]
    _, schema = models_json_schema(models, by_alias=True)
    definitions = cast("dict[str, Schema]", schema["$defs"])
    return {name: _undocumented(definition) for name, definition in definitions.items()}


def _undocumented(definition: Schema) -> Schema:
    """Without texts and defaults: a member that is absent is absent, and says no more."""
    members = cast("dict[str, Schema]", definition["properties"])
    kept: Schema = {name: value for name, value in definition.items() if name != "description"}
    kept["properties"] = {
        name: {key: value for key, value in member.items() if key not in ("title", "default")}
        for name, member in members.items()
    }
    return kept
