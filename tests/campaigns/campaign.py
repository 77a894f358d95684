"""What a campaign is, what it is asked to do and what it comes to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from intention_kernel.history.values import Finding, History
from intention_kernel.testing.draws import Draws

from tests.campaigns.ground import Ground

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of one campaign: the same seed draws the same traffic and the same faults.

    `keep` stores a history that is not as it should be, and says where.
    """

    seed: int
    count: int
    ground: Ground
    say: Say
    keep: Callable[[History], None]

    @property
    def draws(self) -> Draws:
        """Numbers of this run's seed."""
        return Draws(self.seed)


@dataclass(frozen=True, slots=True)
class Result:
    """`counts` say what really happened; all is well where `findings` and `problems` are empty.

    `problems` are the campaign's own: a fault that did not happen as often as asked, a process that ended by itself,
    work that is left.
    """

    counts: Mapping[str, int | float]
    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings and not self.problems


@dataclass(frozen=True, slots=True)
class Campaign:
    """`count` is the full number of `unit`s, `short` that of `make test` (0: the crash suite does it there); `own_servers`: it kills servers, or fills them."""

    name: str
    title: str
    unit: str
    count: int
    short: int
    run: Callable[[Plan], Awaitable[Result]] = field(repr=False)
    own_servers: bool = False
