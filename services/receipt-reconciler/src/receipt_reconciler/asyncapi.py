"""The AsyncAPI document of all topics: `python -m receipt_reconciler.asyncapi [FILE]` writes it.

Channels and operations are FastStream's; what a record holds is in the JSON Schemas beside the document, which it points at.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from faststream.kafka import KafkaBroker
from faststream.specification import AsyncAPI
from intention_kernel.contracts.topics import Topics

Document = dict[str, Any]

_TOPICS = Topics()
_THREAD_KEY: Document = {"type": "string", "description": "the thread id as UTF-8"}
_ANY_KEY: Document = {"type": "string", "description": "any bytes, or none"}


@dataclass(frozen=True, slots=True)
class _Channel:
    """One topic, from where the installation stands: it receives requests and decisions, and sends all else."""

    name: str
    topic: str
    action: Literal["receive", "send"]
    what: str
    payload: Document
    key: Document
    headers: tuple[str, ...] = ()


def _schema(name: str) -> Document:
    return {"$ref": f"./{name}.v1.json"}


_ORIGIN = ("reason", "detail", "origin_topic", "origin_partition", "origin_offset")
_CLOUD_EVENT = ("id", "type", "source", "specversion", "subject", "time", "sequence", "incarnation")
_CHANNELS = (
    _Channel("turnRequests", _TOPICS.requests, "receive", "A request for a turn", _schema("turn-request"), _THREAD_KEY),
    _Channel(
        "resolutions",
        _TOPICS.resolutions,
        "receive",
        "A decision about a receipt, taken where INTENTION_ACCEPT_RESOLUTIONS=true: whoever may write here may settle",
        _schema("resolution"),
        _ANY_KEY,
    ),
    _Channel(
        "turnEvents",
        _TOPICS.events,
        "send",
        "A committed event",
        _schema("kernel-event"),
        _THREAD_KEY,
        tuple(f"ce_{name}" for name in _CLOUD_EVENT),
    ),
    _Channel("turnTraces", _TOPICS.traces, "send", "A live event, best effort", _schema("trace"), _THREAD_KEY),
    _Channel(
        "turnsRejected",
        _TOPICS.rejected,
        "send",
        "A request or a decision that was refused, byte for byte",
        {"description": "the bytes of the record that was refused, whatever they are"},
        _ANY_KEY,
        _ORIGIN,
    ),
    _Channel(
        "reconciliationNotices",
        _TOPICS.reconciliation,
        "send",
        "A receipt needs or got attention",
        _schema("reconciliation-notice"),
        _THREAD_KEY,
    ),
)


def document() -> Document:
    """The document, for topics without a prefix."""
    broker = KafkaBroker("kafka:9092", apply_types=False)
    for channel in _CHANNELS:
        if channel.action == "send":
            broker.publisher(channel.topic, title=channel.name, description=channel.what, schema=dict)
        else:
            broker.subscriber(channel.topic, title=channel.name, description=channel.what)(_received)
    described = AsyncAPI(
        broker,
        title="Intention Kernel",
        version="1",
        description="INTENTION_TOPIC_PREFIX goes before every topic.",
    )
    # The names that FastStream gives to messages are none by the specification, and their order is that of a set.
    text = described.to_specification().to_json().replace(":SubscribeMessage", "").replace(":Message", "")
    found: Document = json.loads(text)
    for part in ("channels", "operations"):
        found[part] = {channel.name: found[part][channel.name] for channel in _CHANNELS}
    # FastStream describes messages by Python types; ours are described by schemas.
    found["components"] = {"messages": {channel.name: _message(channel) for channel in _CHANNELS}}
    return found


def document_text() -> str:
    """The committed file's text."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


async def _received(record: object) -> None:
    """Stands for what a process does with a record."""


def _message(channel: _Channel) -> Document:
    message: Document = {
        "name": channel.name,
        "title": channel.what,
        "contentType": "application/json",
        "payload": channel.payload,
        "bindings": {"kafka": {"key": channel.key, "bindingVersion": "0.4.0"}},
    }
    if channel.headers:
        members = {name: {"type": "string"} for name in channel.headers}
        message["headers"] = {"type": "object", "properties": members, "required": list(channel.headers)}
    return message


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "schemas/asyncapi.json")
    path.write_text(document_text(), encoding="utf-8")
    sys.stdout.write(f"{path}\n")
