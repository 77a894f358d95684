"""What goes wrong at the bank, decided from the seed and the request alone: one seed gives the same faults again.

Time and the order of arrival have no part in it; how often a key arrived has, so that a repeat may go better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field

from intention_kernel.ids import derived_id

Fault: TypeAlias = Literal["refuse", "failBefore", "delay", "failAfter", "dropReply"]

LONGEST_DELAY_SECONDS = 1.5
"""Half of the quiet period that a charge declares: a charge that is delayed for longer would make that a lie."""

_Probability = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class Faults:
    """Probabilities for every write that arrives; without arguments nothing goes wrong.

    refuse        refused before anything is done, and certainly so: a notice at its first arrival only
    fail_before   an error before anything is done, which proves nothing to the caller
    delay         done `delay_seconds` later, if the caller has gone, too
    fail_after    done, and the very same error
    drop_reply    done, and the connection closed without a reply

    The first two end the request. `first_arrivals` spares a key's later arrivals, 0 spares none; `operations` are those
    that suffer.
    """

    seed: int = 0
    refuse: _Probability = 0.0
    fail_before: _Probability = 0.0
    delay: _Probability = 0.0
    delay_seconds: Annotated[float, Field(ge=0, le=LONGEST_DELAY_SECONDS)] = 0.0
    fail_after: _Probability = 0.0
    drop_reply: _Probability = 0.0
    first_arrivals: Annotated[int, Field(ge=0)] = 0
    operations: tuple[Literal["charge", "reserve", "notify"], ...] = ("charge", "reserve", "notify")
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    def strike(self, op: str, thread_id: str, key: str, arrival: int) -> tuple[Fault, ...]:
        """The faults of this arrival of the key, in the order in which they come."""
        if op not in self.operations or 0 < self.first_arrivals < arrival:
            return ()

        def hits(fault: Fault, probability: float) -> bool:
            return probability > 0 and _draw(str(self.seed), fault, op, thread_id, key, str(arrival)) < probability

        if hits("refuse", self.refuse):
            return ("refuse",)
        if hits("failBefore", self.fail_before):
            return ("failBefore",)
        late: tuple[Fault, ...] = ("delay",) if hits("delay", self.delay) else ()
        if hits("failAfter", self.fail_after):
            return (*late, "failAfter")
        return (*late, "dropReply") if hits("dropReply", self.drop_reply) else late


def _draw(*parts: str) -> float:
    """From 0 to below 1."""
    return int(derived_id("bank", *parts), 16) / 2.0**128
