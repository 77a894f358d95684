"""The world that the model explores: one thread, one partition, two runners, a provider with a ledger.

Every value is immutable and hashable; a transition makes a new world. Counters (fence, revision, versions, attempt ids) are
small integers where the real ones are counters or random ids.
"""

from __future__ import annotations

from typing import NamedTuple


class Continuation(NamedTuple):
    """A continuation turn's id: receipt, settlement number, issue number (R28)."""

    key: str
    settlement: int
    issue: int


Turn = str | Continuation


class Entry(NamedTuple):
    """A journal entry: `plan` (the model's answer), `claim` (a prepared key), `saw` (an outcome as the program saw it) or
    `again` (a later model answer, whose request holds `value`)."""

    kind: str
    name: str
    value: tuple[str, ...]


Journal = tuple[Entry, ...]


class Head(NamedTuple):
    """The thread's row. `token` is 0 where nobody holds a lease; `memory` changes with the checkpoint."""

    fence: int = 0
    token: int = 0
    live: bool = False
    turn: Turn | None = None
    attempts: int = 0
    revision: int = 0
    sequence: int = 1
    memory: int = 0


class Receipt(NamedTuple):
    """An effect's row. `turn` is the one that prepared it first; `issues` counts requests at the present settlement;
    `repeated` that a resolver has repeated this attempt's call."""

    state: str
    attempt: int
    fence: int
    turn: Turn
    contradicted: bool = False
    version: int = 1
    settlements: int = 0
    issues: int = 0
    recovery: int = 0
    repeated: bool = False


class Aside(NamedTuple):
    """A set-aside row; `memory` is the one that the turn ran on, `state` open, redriven, or rejected (R33)."""

    turn: Turn
    state: str
    memory: int


class Item(NamedTuple):
    """A row of the operators' queue (R27): phase open, decided or done; kind uncertain or orphaned (R32)."""

    key: str
    settlement: int
    kind: str
    phase: str


class Told(NamedTuple):
    """What a turn's conversation knows of an effect, and of which attempt."""

    turn: Turn
    key: str
    outcome: str
    attempt: int


class Database(NamedTuple):
    """Everything that a restore brings back to an older day."""

    head: Head = Head()
    turns: tuple[Turn, ...] = ()
    journals: tuple[tuple[Turn, Journal], ...] = ()
    receipts: tuple[tuple[str, Receipt], ...] = ()
    blocked: frozenset[tuple[Turn, str]] = frozenset()
    told: frozenset[Told] = frozenset()
    asides: tuple[Aside, ...] = ()
    items: tuple[Item, ...] = ()
    outbox: tuple[Turn, ...] = ()
    progress: int = 0
    suspect: int = 0
    incarnation: int = 0
    marked: frozenset[Turn] = frozenset()


class Runner(NamedTuple):
    """A runner process: its partition generation, its place in the log and the attempt that it runs."""

    up: bool = True
    generation: int = 0
    position: int = 0
    polled: int = 0
    at: str = "idle"
    turn: Turn | None = None
    fence: int = 0
    token: int = 0
    revision: int = 0
    sequence: int = 0
    journal: Journal = ()
    own: Journal = ()
    seen: Journal = ()
    resumed: Turn | None = None
    must: frozenset[str] = frozenset()
    key: str = ""
    attempt: int = 0
    note: str = ""


REPEAT = -1
"""A resolver's repeat of a call, begun when nothing of the attempt could happen any more."""

EARLY_REPEAT = -2
"""One that was begun while the attempt itself might still be applied."""


class Call(NamedTuple):
    """A request to the provider: sent, applied or refused. `attempt` is a number, REPEAT or EARLY_REPEAT."""

    key: str
    attempt: int
    state: str


class Look(NamedTuple):
    """A resolver's observation, with the receipt version it began with."""

    key: str
    found: bool
    version: int


class Faults(NamedTuple):
    """How often each fault may still happen."""

    crash: int = 0
    pause: int = 0
    rebalance: int = 0
    timeout: int = 0
    lost_call: int = 0
    refusal: int = 0
    failure: int = 0
    outage: int = 0
    give_up: int = 0
    look: int = 0
    decision: int = 0
    lie: int = 0
    redrive: int = 0
    duplicate: int = 0
    repeat: int = 0
    abandon: int = 0
    retry: int = 0
    forget: int = 0
    backup: int = 0
    restore: int = 0
    uncalled: int = 0


class World(NamedTuple):
    """The whole: database, Kafka, processes, provider and what may still go wrong."""

    db: Database
    log: tuple[Turn, ...]
    committed: int
    generation: int
    owner: int
    runners: tuple[Runner, Runner]
    faults: Faults
    calls: frozenset[Call] = frozenset()
    ledger: tuple[tuple[str, int], ...] = ()
    looks: frozenset[Look] = frozenset()
    packets: frozenset[tuple[Turn, int]] = frozenset()
    tokens: int = 0
    attempts: int = 0
    topic: tuple[int, ...] = ()
    backup: Database | None = None
    restored: bool = False
    remembered: frozenset[str] = frozenset()
    retries: frozenset[str] = frozenset()
    lied: bool = False
    kills: int = 0
    own_failures: int = 0


class Step(NamedTuple):
    """A transition: what it is called, where it leads, whether it needs a fault, and the promise that it breaks itself."""

    label: str
    world: World
    is_fault: bool = False
    broken: str | None = None


def spend(world: World, fault: str) -> World:
    """The world with one fault of that name used up."""
    return world._replace(faults=world.faults._replace(**{fault: getattr(world.faults, fault) - 1}))


def with_runner(world: World, index: int, runner: Runner) -> World:
    """The world with one of its runners replaced."""
    first, second = world.runners
    return world._replace(runners=(runner, second) if index == 0 else (first, runner))


def receipt_of(db: Database, key: str) -> Receipt | None:
    """The receipt of a key, or None."""
    for name, receipt in db.receipts:
        if name == key:
            return receipt
    return None


def with_receipt(db: Database, key: str, receipt: Receipt) -> Database:
    """The database with a receipt written."""
    kept = tuple(pair for pair in db.receipts if pair[0] != key)
    return db._replace(receipts=tuple(sorted((*kept, (key, receipt)))))


def journal_of(db: Database, turn: Turn) -> Journal:
    """The journal of a turn, empty where it has none."""
    for name, journal in db.journals:
        if name == turn:
            return journal
    return ()


def with_journal(db: Database, turn: Turn, journal: Journal) -> Database:
    """The database with a turn's journal replaced; an empty one is no row."""
    kept = tuple(pair for pair in db.journals if pair[0] != turn)
    return db._replace(journals=(*kept, (turn, journal)) if journal else kept)


def aside_of(db: Database, turn: Turn) -> Aside | None:
    """The newest set-aside row of a turn, or None."""
    for aside in reversed(db.asides):
        if aside.turn == turn:
            return aside
    return None


def applied(world: World, key: str) -> int:
    """How often the provider applied the effect of a key."""
    for name, count in world.ledger:
        if name == key:
            return count
    return 0
