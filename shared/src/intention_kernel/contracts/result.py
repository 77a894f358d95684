"""What a program returns, and what the outside is told of a turn (interface 1 and 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from intention_kernel.contracts.json_codec import JsonValue

TurnStatus = Literal["completed", "blocked", "failed"]


@dataclass(frozen=True, slots=True)
class Response:
    """What the user is shown. `claims` and `artifacts` are JSON values that the application defines."""

    message: str
    status: str = "completed"
    claims: tuple[JsonValue, ...] = ()
    interaction: JsonValue = None
    artifacts: tuple[JsonValue, ...] = ()

    def to_json(self) -> dict[str, JsonValue]:
        return {
            "message": self.message,
            "status": self.status,
            "claims": list(self.claims),
            "interaction": self.interaction,
            "artifacts": list(self.artifacts),
        }


@dataclass(frozen=True, slots=True)
class TurnResult:
    """A program's answer: a response, the facts it learnt (type -> value), and how the turn ended.

    A fact of the same type replaces the earlier one. `response` None says nothing to the user.
    """

    response: Response | None
    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    status: TurnStatus = "completed"


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A committed turn's result as `turn.completed` and a replay show it; `facts` are the types that the turn set."""

    revision: int
    status: TurnStatus
    response: JsonValue
    blocked_on: tuple[str, ...]
    facts: tuple[str, ...]

    def to_json(self, *, replayed: bool) -> dict[str, JsonValue]:
        return {
            "revision": self.revision,
            "status": self.status,
            "response": self.response,
            "blockedOn": list(self.blocked_on),
            "facts": list(self.facts),
            "replayed": replayed,
        }
