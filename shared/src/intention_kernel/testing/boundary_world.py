"""The world around the durable boundary, for the state machine: processes, calls under way, and a provider with a ledger."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Literal

from intention_kernel.contracts.receipt import LEGAL_TRANSITIONS
from intention_kernel.ports.effect_store import Prepare
from intention_kernel.ports.redrives import RejectionState
from intention_kernel.ports.turn_store import Begin, Begun, ContinuationOf
from intention_kernel.testing.boundary_harness import BoundaryHarness, StoredReceipt

Outcome = Literal["completed", "failed", "uncertain"]


@dataclass(slots=True)
class Call:
    """What one `Prepared` permits: one call. `may_send`: its coroutine runs and the request has not left."""

    ask: Prepare
    number: int
    may_send: bool = True
    applied: bool = False
    refused: bool = False

    def truth(self) -> Outcome:
        """What the operation can say when it ends now."""
        if self.applied:
            return "completed"
        return "failed" if self.refused else "uncertain"


@dataclass(slots=True)
class Attempt:
    """One process that runs one attempt of a turn, perhaps long after it was overtaken."""

    turn_id: str
    ask: Begin
    begun: Begun
    of: ContinuationOf | None
    must_claim: frozenset[str]
    met: set[str] = field(default_factory=set)
    uncertain: set[str] = field(default_factory=set)
    alive: bool = True
    over: bool = False


@dataclass(slots=True)
class Aside:
    """One time that a turn was set aside; `revision` is that of it."""

    turn_id: str
    revision: int
    state: RejectionState = "open"


@dataclass(slots=True)
class World:
    """What is true, whatever the store thinks. `ledger` counts how often the provider applied each effect key, `claimed` is
    by turn what its attempts prepared.
    """

    attempts: list[Attempt] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    ledger: Counter[str] = field(default_factory=Counter)
    done: dict[str, bytes] = field(default_factory=dict)
    asides: list[Aside] = field(default_factory=list)
    begun: set[str] = field(default_factory=set)
    claimed: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    holder: Attempt | None = None
    lease_is_live: bool = False
    revision: int = 0
    next_sequence: int = 1

    @property
    def set_aside(self) -> set[str]:
        """Turns that do not run any more, unless a person redrives them."""
        last = {aside.turn_id: aside.state for aside in self.asides}
        return {turn_id for turn_id, state in last.items() if state != "redriven"}

    @property
    def redriven(self) -> set[str]:
        """Turns that were set aside and are to run again."""
        return {aside.turn_id for aside in self.asides} - self.set_aside - self.done.keys()

    def has_thread(self, attempt: Attempt) -> bool:
        """It was not overtaken and has not let go; its lease may be over."""
        return self.holder is attempt

    def can_take_effect(self, effect_key: str) -> bool:
        """Some call of the key may still be sent (protocol R22)."""
        return any(call.may_send for call in self.calls if call.ask.effect_key == effect_key)

    def advance(self, events: int) -> None:
        """A fenced commit: the thread is free and goes on."""
        self.revision += 1
        self.next_sequence += events
        self.holder = None
        self.lease_is_live = False


async def check_invariants(boundary: BoundaryHarness, world: World, thread_id: str) -> None:
    """What must hold after every step. Raises AssertionError."""
    await _check_turns(boundary, world, thread_id)
    for receipt in await boundary.receipts(thread_id):
        await _check_history(boundary, thread_id, receipt)
        _check_truth(world, receipt)
    await _check_nothing_is_forgotten(boundary, world, thread_id)


async def _check_turns(boundary: BoundaryHarness, world: World, thread_id: str) -> None:
    head = await boundary.head(thread_id)
    turns = await boundary.turns(thread_id)
    assert {turn.turn_id: turn.result for turn in turns} == world.done
    assert [turn_id for turn_id, _ in await boundary.set_aside(thread_id)] == [aside.turn_id for aside in world.asides]
    assert not world.set_aside.intersection(world.done)
    if head is not None:
        assert (head.revision, head.next_sequence) == (world.revision, world.next_sequence)
        assert head.revision == len(world.done) + len(world.asides)
    rows = [row for row in await boundary.outbox(thread_id) if row.topic == "turns.events"]
    numbers = [int(dict(record.headers)["ce_sequence"]) for row in rows for record in row.records]
    assert numbers == list(range(1, world.next_sequence))


async def _check_history(boundary: BoundaryHarness, thread_id: str, receipt: StoredReceipt) -> None:
    history = await boundary.transitions(thread_id, receipt.effect_key)
    assert [line.version for line in history] == list(range(1, receipt.version + 1))
    for line, earlier in zip(history, (None, *history), strict=False):
        assert line.from_state == (earlier.state if earlier else None)
        assert line.contradicted or (line.from_state, line.state) in LEGAL_TRANSITIONS
    last = history[-1]
    assert (last.state, last.attempt, last.settlements) == (receipt.state, receipt.attempt, receipt.settlements)


def _check_truth(world: World, receipt: StoredReceipt) -> None:
    """Effects happen once, and the record never says what is not so, since all evidence in this world is true."""
    applied = world.ledger[receipt.effect_key]
    assert applied <= 1, f"DOUBLE EFFECT {receipt.effect_key}"
    assert not receipt.contradicted
    if receipt.state == "completed":
        assert applied == 1
    if receipt.state == "failed":
        assert applied == 0
        assert not world.can_take_effect(receipt.effect_key)


async def _check_nothing_is_forgotten(boundary: BoundaryHarness, world: World, thread_id: str) -> None:
    """Whoever waits for a settled receipt has a continuation that is still to run (protocol R29, R30)."""
    asked = {row.dedupe for row in await boundary.outbox(thread_id) if row.topic == "turns.requests"}
    receipts = {receipt.effect_key: receipt for receipt in await boundary.receipts(thread_id)}
    for key, _ in await boundary.blocked_steps(thread_id):
        receipt = receipts[key]
        waits = receipt.state in ("prepared", "uncertain")
        assert waits or any(receipt.receipt_id in turn_id for turn_id in asked - world.done.keys()), "STUCK"
