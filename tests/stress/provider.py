"""An outside world that counts: calls on their way, and a ledger of what really happened."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal


@dataclass(slots=True)
class Call:
    """One request to the provider. It arrives when the schedule says so, also after its sender is dead."""

    number: int
    key: str
    turn: str
    attempt: int
    state: Literal["sent", "applied", "refused", "lost"] = "sent"

    def __str__(self) -> str:
        return f"{self.key}#{self.attempt}"


@dataclass(slots=True)
class Provider:
    """`keyed` deduplicates by key for ever."""

    keyed: bool
    calls: list[Call] = field(default_factory=list)
    ledger: Counter[str] = field(default_factory=Counter)
    applied_for: set[tuple[str, str]] = field(default_factory=set)

    def send(self, key: str, turn: str, attempt: int) -> Call:
        """Put a request on its way."""
        call = Call(len(self.calls), key, turn, attempt)
        self.calls.append(call)
        return call

    def apply(self, call: Call) -> None:
        """It arrives."""
        call.state = "applied"
        if not (self.keyed and self.ledger[call.key]):
            self.ledger[call.key] += 1
            self.applied_for.add((call.turn, call.key))

    def on_the_way(self, key: str) -> list[Call]:
        """Requests that may still arrive."""
        return [call for call in self.calls if call.key == key and call.state == "sent"]
