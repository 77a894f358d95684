"""Facts: what a thread knows, by type and version, with the evidence that came with each and where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import AnyJson, StoredModel, Text

ModelVisibility = Literal["full", "presence", "hidden"]
EvidenceSource = Literal["user", "fact", "capability", "external"]


class EvidenceRecord(StoredModel):
    """Support for a fact or a claim. `content` is what people and models read; `data` is whatever the host keeps with it."""

    id: Annotated[str, Field(min_length=1)]
    source: EvidenceSource
    content: Text
    data: AnyJson = None


class FactReference(StoredModel):
    """A fact by type and version; another version never satisfies it."""

    type: str
    version: Annotated[int, Field(ge=1)] = 1

    @property
    def key(self) -> str:
        """`type@version`, under which the checkpoint keeps the fact."""
        return f"{self.type}@{self.version}"


class FactCandidate(FactReference):
    """A fact as a capability offers it: `evidence_ids` name evidence of the same result, `depends_on` are its parents."""

    value: AnyJson
    evidence_ids: tuple[str, ...] = ()
    depends_on: tuple[FactReference, ...] = ()


class Producer(StoredModel):
    """The step that published a fact."""

    capability_id: str
    capability_version: int
    turn_id: str
    step_id: str


class FactRecord(FactCandidate):
    """A published fact. `model_redactions` are private: what models must not read of it."""

    produced_by: Producer
    evidence: tuple[EvidenceRecord, ...] = ()
    model_visibility: ModelVisibility = "full"
    model_redactions: tuple[Text, ...] = ()


Facts = Mapping[str, FactRecord]
"""By `FactReference.key`."""


def fact_value(facts: Facts, fact_type: str, version: int = 1) -> JsonValue:
    """The fact's value, or None where there is none."""
    record = facts.get(f"{fact_type}@{version}")
    return record.value if record is not None else None
