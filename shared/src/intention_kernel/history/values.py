"""A history: every record, row and ledger entry that is there when an installation is quiet. Nothing here is decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Headers = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Sent:
    """What a client put on the request topic, and what it was told.

    `place` is (partition, offset) where the broker acknowledged it, else None: it may be there or not, once or twice.
    `good` is false for bytes that are no request.
    """

    key: bytes | None
    value: bytes | None
    place: tuple[int, int] | None
    good: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a topic."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class WireEvent:
    """One event as it was committed: the bytes that have to reach the topic."""

    headers: Headers
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Turn:
    """A committed turn with its events."""

    thread_id: str
    turn_id: str
    revision: int
    status: str
    first_sequence: int
    events: tuple[WireEvent, ...]


@dataclass(frozen=True, slots=True)
class SetAside:
    """A turn that was given up; `state` is `open`, `redriven` or `dropped`."""

    thread_id: str
    turn_id: str
    revision: int
    state: str
    reason: str
    place: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that was refused. `revision` is there where a fenced commit refused it; ids where they could be read."""

    place: tuple[int, int]
    thread_id: str | None
    turn_id: str | None
    revision: int | None
    state: str
    reason: str
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Head:
    """A thread's row: `turn_id` is the turn in progress."""

    thread_id: str
    revision: int
    next_sequence: int
    turn_id: str | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """An external effect as our record tells it. `reference` is the provider's, from the recorded value."""

    receipt_id: str
    thread_id: str
    key: str
    turn_id: str
    state: str
    attempt: int
    version: int
    settlements: int
    contradicted: bool
    reference: str | None


@dataclass(frozen=True, slots=True)
class Move:
    """One line of a receipt's history."""

    thread_id: str
    key: str
    version: int
    from_state: str | None
    state: str
    attempt: int
    settlements: int
    contradicted: bool
    cause: str


@dataclass(frozen=True, slots=True)
class Item:
    """A receipt's place in the operator queue; `phase` is `open`, `decided`, `done` or `failed`.

    `kind` is `effect` or `orphaned`; `turn_id` is the continuation that it asked for, of an orphaned one the turn given up.
    """

    thread_id: str
    key: str
    settlement: int
    kind: str
    phase: str
    turn_id: str | None


@dataclass(frozen=True, slots=True)
class Applied:
    """An effect that really happened, from the provider's own ledger, in its order."""

    thread_id: str
    key: str
    reference: str


@dataclass(frozen=True, slots=True)
class History:
    """Everything. `offsets` is partition → (the group's committed offset, the end).

    `left` names work that is not done, as `what: how much, an example`. `incarnation` is the database's own; `recoveries`
    how often it took the place of a newer one.
    """

    sent: tuple[Sent, ...]
    requests: tuple[Record, ...]
    events: tuple[Record, ...]
    rejections: tuple[Record, ...]
    turns: tuple[Turn, ...]
    set_aside: tuple[SetAside, ...]
    rejected: tuple[Rejected, ...]
    heads: tuple[Head, ...]
    receipts: tuple[Receipt, ...]
    moves: tuple[Move, ...]
    items: tuple[Item, ...]
    ledger: tuple[Applied, ...]
    offsets: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    incarnation: str = ""
    recoveries: int = 0


@dataclass(frozen=True, slots=True)
class Allowed:
    """What this history may have although it is not what one hopes for. By default: nothing.

    `set_aside` are (thread, turn) that may be given up; `rejected` are reasons for which good requests may be refused;
    `open_items` is true where receipts may wait for a person; `contradicted` where answers may disagree with settlements.
    """

    set_aside: frozenset[tuple[str, str]] = frozenset()
    rejected: frozenset[str] = frozenset()
    open_items: bool = False
    contradicted: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule; `rule` is a short name that stands in docs/guarantees.md."""

    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"
