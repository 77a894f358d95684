"""The checkpoint: a thread's memory between turns, bounded, and lossless down to members this build does not know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from intention_kernel.contracts.json_codec import JsonValue, dumps, loads

SCHEMA_REVISION = 1
MAX_MESSAGES = 40
"""The window of messages; the full history is in `turns`."""
MAX_FACTS = 1_000
"""A turn beyond it fails with TurnLimitError; no fact is dropped (design 5)."""
MAX_RECENT_RECEIPTS = 20


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Messages, facts, agenda, the active interaction and the receipts they refer to.

    Messages, facts, agenda items and receipts are JSON objects that are kept as they are: private metadata and members
    of a later build survive: agenda records are never rebuilt from a list of public fields. `facts` is keyed by type.
    """

    agent_id: str
    fingerprint: str
    schema_revision: int = SCHEMA_REVISION
    messages: tuple[Mapping[str, JsonValue], ...] = ()
    facts: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict)
    agenda: tuple[Mapping[str, JsonValue], ...] = ()
    interaction: JsonValue = None
    receipts: tuple[Mapping[str, JsonValue], ...] = ()
    unknown: Mapping[str, JsonValue] = field(default_factory=dict)

    def fact(self, fact_type: str) -> JsonValue:
        """The value of a fact, or None where the thread has none of that type."""
        record = self.facts.get(fact_type)
        return record["value"] if record is not None else None

    def with_agent(self, agent_id: str, fingerprint: str) -> Checkpoint:
        """The same memory under the build that goes on with it."""
        return replace(self, agent_id=agent_id, fingerprint=fingerprint, schema_revision=SCHEMA_REVISION)


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """The bytes to store. Raises JsonError where a fact or message is not JSON."""
    return dumps(
        {
            **checkpoint.unknown,
            "schemaRevision": checkpoint.schema_revision,
            "agentId": checkpoint.agent_id,
            "fingerprint": checkpoint.fingerprint,
            "messages": [dict(message) for message in checkpoint.messages],
            "facts": {fact_type: dict(record) for fact_type, record in checkpoint.facts.items()},
            "agenda": [dict(item) for item in checkpoint.agenda],
            "interaction": checkpoint.interaction,
            "receipts": [dict(receipt) for receipt in checkpoint.receipts],
        }
    )


def decode_checkpoint(data: bytes) -> Checkpoint:
    """What `encode_checkpoint` stored, by this build or another of the same schema revision."""
    document = cast("dict[str, JsonValue]", loads(data))
    take = document.pop
    return Checkpoint(
        schema_revision=cast("int", take("schemaRevision")),
        agent_id=cast("str", take("agentId")),
        fingerprint=cast("str", take("fingerprint")),
        messages=tuple(cast("list[dict[str, JsonValue]]", take("messages"))),
        facts=cast("dict[str, dict[str, JsonValue]]", take("facts")),
        agenda=tuple(cast("list[dict[str, JsonValue]]", take("agenda"))),
        interaction=take("interaction"),
        receipts=tuple(cast("list[dict[str, JsonValue]]", take("receipts"))),
        unknown=document,
    )
