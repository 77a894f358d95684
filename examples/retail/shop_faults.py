"""What goes wrong at the shop when a test, a demo or a campaign asks for it: switches over keyed writes.

A switch strikes the next `count` writes, or every write with `probability`. Whether it strikes with a probability
depends on the seed, the world, the key and how often that key was tried: not on the time or the order of arrival. So one
seed gives the same faults again, whatever runs beside. Switches live in the process and end with it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from intention_kernel.ids import derived_id
from pydantic import BaseModel, ConfigDict, Field, model_validator

Fault: TypeAlias = Literal["refuse", "failBeforeCommit", "delay", "failAfterCommit", "dropReply"]

LONGEST_DELAY_SECONDS = 600
_LARGEST_COUNT = 1_000_000_000


class _Exact(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class Switch(_Exact):
    """When a fault strikes: the next `count` writes (0 is off), or each with `probability`; exactly one of the two."""

    count: Annotated[int, Field(ge=0, le=_LARGEST_COUNT)] | None = None
    probability: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Switch:
        if (self.count is None) == (self.probability is None):
            raise ValueError("name either count or probability")
        return self


class DelaySwitch(Switch):
    """The same, and for how long: the write is applied afterwards, even if the client has gone."""

    seconds: Annotated[float, Field(ge=0, le=LONGEST_DELAY_SECONDS)]


class FaultsBody(_Exact):
    """`POST /faults`: the switches to turn; those that are not named stay.

    refuse            503 before anything is done, which promises that nothing was changed
    failBeforeCommit  500 before anything is done
    delay             wait before anything is done
    failAfterCommit   500, the very same, after the write was applied
    dropReply         close the connection after the write was applied
    """

    seed: int | None = None
    refuse: Switch | None = None
    failBeforeCommit: Switch | None = None
    delay: DelaySwitch | None = None
    failAfterCommit: Switch | None = None
    dropReply: Switch | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One arrival of a keyed write; `number` counts from 1 for every key of a world, also over refusals."""

    world: str
    key: str
    number: int


@dataclass(slots=True)
class Faults:
    """The switches of one process, and how often each struck."""

    seed: int = 0
    switches: dict[Fault, Switch] = field(default_factory=dict)
    struck: Counter[Fault] = field(default_factory=Counter)
    _attempts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def turn(self, body: FaultsBody) -> None:
        """Take over what the body names. A seed begins the attempts of every key anew, so that a run can be repeated."""
        if body.seed is not None:
            self.seed = body.seed
            self._attempts.clear()
        named: dict[Fault, Switch | None] = {
            "refuse": body.refuse,
            "failBeforeCommit": body.failBeforeCommit,
            "delay": body.delay,
            "failAfterCommit": body.failAfterCommit,
            "dropReply": body.dropReply,
        }
        self.switches |= {fault: switch for fault, switch in named.items() if switch is not None}

    def attempt(self, world: str, key: str) -> Attempt:
        """The attempt that has just arrived."""
        self._attempts[world, key] += 1
        return Attempt(world, key, self._attempts[world, key])

    def strikes(self, fault: Fault, attempt: Attempt) -> bool:
        """Whether the fault strikes this attempt; asked once for each, since it counts."""
        switch = self.switches.get(fault)
        if switch is None or not self._takes(fault, switch, attempt):
            return False
        self.struck[fault] += 1
        return True

    def delay_seconds(self, attempt: Attempt) -> float:
        """How long this attempt has to wait; asked once, since it counts."""
        switch = self.switches.get("delay")
        return switch.seconds if isinstance(switch, DelaySwitch) and self.strikes("delay", attempt) else 0.0

    def _takes(self, fault: Fault, switch: Switch, attempt: Attempt) -> bool:
        if switch.probability is not None:
            return self._draw(fault, attempt) < switch.probability
        if not switch.count:
            return False
        switch.count -= 1
        return True

    def _draw(self, fault: Fault, attempt: Attempt) -> float:
        drawn = derived_id(str(self.seed), fault, attempt.world, attempt.key, str(attempt.number))
        return int(drawn, 16) / 2.0 ** (4 * len(drawn))
