"""What a run explores: the log, the programs, and how many faults of which kind."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.model.state import Database, Faults, Runner, Turn, World

Plan = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Bounds of one exploration. Names of turns are `T1`, `T2`; of effects `K1`, `K2`."""

    name: str
    title: str
    log: tuple[str, ...] = ("T1",)
    plans: dict[str, tuple[Plan, ...]] = field(default_factory=lambda: {"T1": (("K1",),)})
    faults: Faults = field(default_factory=Faults)
    limit: int = 0  # attempts before a turn is given up; 0: it never is
    after_failure: dict[str, str] = field(default_factory=dict)  # key -> key that the program takes instead
    after_uncertain: dict[str, str] = field(default_factory=dict)  # turn -> independent key that it goes on with
    asks_again: bool = False  # after K1 the model is asked with the outcome
    opaque: bool = False  # a plain program: its plan is not a journalled model answer
    insists: bool = False  # T2 orders again, under another key, where it is not known what became of T1's order
    poison: str = ""  # this turn kills its process
    remembers: bool = False  # the provider deduplicates by key
    two_runners: bool = True
    zombie: bool = False  # the second runner polled the whole log in an older generation
    items: bool = False  # the operators' queue is explicit: looks and decisions need an item
    slow_relay: bool = False  # requests wait in the outbox
    announced: bool = True  # whoever restores the database recovers it, whether a runner notices or not
    live_restore: bool = False  # runners live on while the database is replaced

    def world(self) -> World:
        """The state that the exploration starts from."""
        first = Runner(generation=1)
        second = Runner()
        generation = 1
        log: tuple[Turn, ...] = self.log
        if self.zombie:
            first = Runner(generation=2)
            second = Runner(generation=1, polled=len(log))
            generation = 2
        return World(Database(), log, 0, generation, 0, (first, second), self.faults)
