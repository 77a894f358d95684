"""What a test sees of events, and how an assertion says what there was instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn, cast

from intention_kernel.contracts.event import EventCategory
from intention_kernel.contracts.json_codec import JsonValue, dumps

_LONGEST_SHOWN = 400


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """A committed event, as a reader of `turns.events` gets it. `step_id` and `causation_id` are None where it has none."""

    id: str
    type: str
    category: EventCategory
    turn_id: str
    sequence: int
    step_id: str | None
    causation_id: str | None
    data: JsonValue

    @classmethod
    def of(cls, envelope: Mapping[str, JsonValue]) -> SeenEvent:
        """From the JSON of the topic."""
        return cls(
            id=cast("str", envelope["id"]),
            type=cast("str", envelope["type"]),
            category=cast("EventCategory", envelope["category"]),
            turn_id=cast("str", envelope["turnId"]),
            sequence=cast("int", envelope["sequence"]),
            step_id=cast("str | None", envelope.get("stepId")),
            causation_id=cast("str | None", envelope.get("causationId")),
            data=envelope["data"],
        )

    def __getitem__(self, member: str) -> JsonValue:
        """A member of the data. Raises AssertionError with the members that there are."""
        members = members_of(self.data)
        if member not in members:
            fail(f"{self.type} has no data member {member!r}", members)
        return members[member]

    def caused_by(self, cause: SeenEvent) -> None:
        """Assert that it names `cause` as its cause."""
        if self.causation_id != cause.id:
            fail(f"{self.type} was not caused by {cause.type} ({cause.id})", [f"causationId {self.causation_id}"])


def members_of(data: JsonValue) -> Mapping[str, JsonValue]:
    """The members of an event's data; none where `redact` left no object."""
    return data if isinstance(data, dict) else {}


def shown(value: JsonValue) -> str:
    """A value as JSON, shortened where it is long."""
    text = dumps(value).decode()
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}… ({len(text)} characters)"


def fail(problem: str, found: Iterable[str]) -> NoReturn:
    """Raise AssertionError: what was expected, and below it what there was."""
    lines = [f"  {line}" for line in found] or ["  nothing"]
    raise AssertionError("\n".join([problem, "there was:", *lines]))
