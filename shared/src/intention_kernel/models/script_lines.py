"""What a line of a script says of its message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from intention_kernel.contracts.json_codec import JsonValue


@dataclass(frozen=True, slots=True)
class Proposal:
    """An operation that the user wants. `input` is a value, or a function of the context that models see."""

    capability_id: str
    input: JsonValue | Callable[[Mapping[str, JsonValue]], JsonValue]
    objective: str | None
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """A part of an answer, and what it cites: evidence ids, or capabilities that completed."""

    text: str
    evidence: tuple[str, ...]


@dataclass(slots=True)
class Line:
    """All that a message means; nothing of it is a message that asks for nothing."""

    proposals: list[Proposal] = field(default_factory=list)
    answers: list[JsonValue] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    ambiguous: list[tuple[str, ...]] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
