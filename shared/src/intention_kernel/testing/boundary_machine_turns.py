"""The rules about turns of the boundary's state machine: begins, leases, crashes, commits; `boundary_machine` has the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from intention_kernel.contracts.identifiers import RESERVED_TURN_PREFIX
from intention_kernel.ports.turn_store import (
    AlreadySetAside,
    Begin,
    Begun,
    BlockedStep,
    Busy,
    Commit,
    Committed,
    Conflict,
    ContinuationOf,
    Fenced,
    Replayed,
    Resequence,
    Unclaimed,
)
from intention_kernel.testing.boundary_calls import begin_of, commit_of, new_thread, set_aside_of
from intention_kernel.testing.boundary_harness import BoundaryHarness, snapshot
from intention_kernel.testing.boundary_world import Aside, Attempt, Call, World

Result = TypeVar("Result")
Ask = TypeVar("Ask")

LEASE_SECONDS = 600.0
TURNS = ("turn-1", "turn-2", "turn-3")
PICK = st.integers(min_value=0, max_value=1_000)


class TurnRules(RuleBasedStateMachine):
    """Every rule may happen at any time, as processes may pause between any two of their steps."""

    def __init__(self, boundary: BoundaryHarness, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.boundary = boundary
        self.store = boundary.store
        self.loop = loop
        self.thread = new_thread()
        self.world = World()

    def run(self, coroutine: Coroutine[object, object, Result]) -> Result:
        """One statement, to its end."""
        return self.loop.run_until_complete(coroutine)

    def living(self) -> list[Attempt]:
        """Processes that can still say something."""
        return [attempt for attempt in self.world.attempts if attempt.alive]

    def open_calls(self) -> list[Call]:
        """Calls whose process lives."""
        fences = {attempt.begun.fence for attempt in self.living()}
        return [call for call in self.world.calls if call.ask.fence in fences]

    def assert_repeat_changes_nothing(
        self, call: Callable[[Ask], Coroutine[object, object, object]], ask: Ask, answer: object
    ) -> None:
        """R11: the same call with the same ids."""
        before = self.run(snapshot(self.boundary, self.thread))
        assert self.run(call(ask)) == answer
        assert self.run(snapshot(self.boundary, self.thread)) == before

    def next_records(self) -> list[str]:
        """What the lane may begin: the oldest turn that never ended, what was redriven, and continuations asked for."""
        over = self.world.done.keys() | self.world.set_aside
        again = self.world.redriven
        users = [turn_id for turn_id in TURNS if turn_id not in over | again][:1] + sorted(again)
        outbox = self.run(self.boundary.outbox(self.thread))
        asked = [row.dedupe for row in outbox if row.dedupe.startswith(RESERVED_TURN_PREFIX)]
        return users + [turn_id for turn_id in asked if turn_id not in over]

    @rule(pick=PICK)
    def begins(self, pick: int) -> None:
        """R1, R4, R7, R15: busy while the lease lives, else the thread as it was left, with all that the turn has prepared."""
        records = self.next_records()
        if not records:
            return
        ask = begin_of(self.thread, records[pick % len(records)])
        ask = replace(ask, lease_seconds=LEASE_SECONDS, attempts_limit=1_000)
        answer = self.run(self.store.begin(ask))
        if self.world.lease_is_live:
            assert isinstance(answer, Busy)
            return
        assert isinstance(answer, Begun)
        assert all(answer.fence > attempt.begun.fence for attempt in self.world.attempts)
        assert (answer.revision, answer.next_sequence) == (self.world.revision, self.world.next_sequence)
        attempt = self.opened(ask, answer)
        assert attempt.of is not None or attempt.must_claim == self.world.claimed[ask.turn_id]
        self.world.attempts.append(attempt)
        self.world.begun.add(ask.turn_id)
        self.world.holder, self.world.lease_is_live = attempt, True

    def opened(self, ask: Begin, begun: Begun) -> Attempt:
        """What the attempt has to meet: its own journal's claims; for a continuation also what it resumes."""
        journal = begun.journal
        of: ContinuationOf | None = None
        if ask.turn_id.startswith(RESERVED_TURN_PREFIX):
            _, receipt_id, settlement, issue = ask.turn_id.split(":")
            answer = self.run(self.store.continuation(self.thread, receipt_id, int(settlement)))
            assert answer is not None
            of = ContinuationOf(answer.effect_key, int(settlement), int(issue), answer.resumed_turn_id)
            journal += answer.journal
        claims = {entry.effect_key for entry in journal if entry.kind == "claim" and entry.effect_key}
        if of is not None and of.resumed_turn_id is not None:
            claims.add(of.effect_key)
        return Attempt(ask.turn_id, ask, begun, of, frozenset(claims))

    @precondition(lambda self: self.world.done or self.world.set_aside)
    @rule(pick=PICK)
    def a_finished_turn_comes_again(self, pick: int) -> None:
        """R7: replayed or set aside, and never a lease; other content conflicts."""
        over = sorted(self.world.done.keys() | self.world.set_aside)
        turn_id = over[pick % len(over)]
        before = self.run(snapshot(self.boundary, self.thread))
        answer = self.run(self.store.begin(begin_of(self.thread, turn_id)))
        if turn_id in self.world.done:
            assert isinstance(answer, Replayed)
            assert answer.result == self.world.done[turn_id]
        else:
            assert isinstance(answer, AlreadySetAside)
        assert isinstance(self.run(self.store.begin(begin_of(self.thread, turn_id, "other"))), Conflict)
        assert self.run(snapshot(self.boundary, self.thread)) == before

    @precondition(lambda self: self.world.lease_is_live)
    @rule()
    def a_lease_ends(self) -> None:
        """Its holder is paused, or gone."""
        self.run(self.boundary.expire_lease(self.thread))
        self.world.lease_is_live = False

    @precondition(lambda self: self.living())
    @rule(pick=PICK)
    def renews(self, pick: int) -> None:
        """R3: only a live lease, only its holder."""
        attempt = self.living()[pick % len(self.living())]
        expected = self.world.has_thread(attempt) and self.world.lease_is_live
        assert self.run(self.store.renew(self.thread, attempt.begun.fence, LEASE_SECONDS)) == expected

    @precondition(lambda self: self.living())
    @rule(pick=PICK)
    def crashes(self, pick: int) -> None:
        """The process is gone: what it has not sent will never be sent, and it says nothing any more."""
        attempt = self.living()[pick % len(self.living())]
        attempt.alive = False
        for call in self.world.calls:
            if call.ask.fence == attempt.begun.fence:
                call.may_send = False

    @precondition(lambda self: self.living())
    @rule(pick=PICK, count=st.booleans())
    def releases(self, *, pick: int, count: bool) -> None:
        """R4, R6: the program failed, or the infrastructure; an overtaken attempt frees nothing."""
        attempt = self.living()[pick % len(self.living())]
        self.run(self.store.release(self.thread, attempt.begun.fence, count_attempt=count))
        attempt.over = True
        if self.world.has_thread(attempt):
            self.world.holder, self.world.lease_is_live = None, False

    @precondition(lambda self: self.living())
    @rule(pick=PICK, adopt=st.booleans(), off_by_one=st.booleans())
    def commits(self, *, pick: int, adopt: bool, off_by_one: bool) -> None:
        """R3, R4, R15, R36: by whoever has the thread, with every key met, and again without a change (R11)."""
        attempt = self.living()[pick % len(self.living())]
        if adopt:
            attempt.met |= attempt.must_claim
        ask = self.end_of_turn(attempt)
        if off_by_one and self.world.has_thread(attempt):
            wrong = replace(ask, next_sequence=ask.next_sequence + 1)
            assert self.run(self.store.commit(wrong)) == Resequence(self.world.next_sequence)
        answer = self.run(self.store.commit(ask))
        if self.world.has_thread(attempt):
            missing = tuple(sorted(attempt.must_claim - attempt.met))
            if missing:
                assert answer == Unclaimed(missing)
                return
            assert answer == Committed(self.world.revision + 1)
            self.world.done[attempt.turn_id] = ask.result
            self.world.advance(ask.event_count)
            self.assert_repeat_changes_nothing(self.store.commit, ask, answer)
            self.assert_nothing_is_left_prepared(attempt)
        else:
            assert isinstance(answer, Replayed | Fenced | Committed)
            assert isinstance(answer, Fenced) == (attempt.turn_id not in self.world.done)

    def assert_nothing_is_left_prepared(self, attempt: Attempt) -> None:
        """R18: what this attempt prepared and nobody knows is a blocked step."""
        waited_for = {key for key, _ in self.run(self.boundary.blocked_steps(self.thread))}
        own = {call.ask.effect_key for call in self.world.calls if call.ask.fence == attempt.begun.fence}
        for receipt in self.run(self.boundary.receipts(self.thread)):
            if receipt.effect_key in own:
                assert receipt.state in ("completed", "failed") or receipt.effect_key in waited_for
                assert receipt.state != "prepared"

    def end_of_turn(self, attempt: Attempt) -> Commit:
        """A result of this attempt's own, so that two attempts' commits can be told apart."""
        ask = commit_of(
            self.thread, attempt.turn_id, attempt.begun, claimed=tuple(sorted(attempt.met)), continuation=attempt.of
        )
        home = attempt.of.resumed_turn_id if attempt.of and attempt.of.resumed_turn_id else attempt.turn_id
        blocked = tuple(BlockedStep(key, home) for key in sorted(attempt.uncertain))
        said = f"{attempt.turn_id} {attempt.begun.fence}".encode()
        return replace(ask, blocked=blocked, result=said, checkpoint=said)

    @precondition(lambda self: self.living())
    @rule(pick=PICK)
    def sets_aside(self, pick: int) -> None:
        """R5: a fenced commit like any other. Continuations are left out: their item owns them (R31)."""
        attempt = self.living()[pick % len(self.living())]
        if attempt.of is not None:
            return
        ask = set_aside_of(self.thread, attempt.turn_id, attempt.begun)
        answer = self.run(self.store.set_aside(ask))
        if self.world.has_thread(attempt):
            assert answer == Committed(self.world.revision + 1)
            self.world.asides.append(Aside(attempt.turn_id, answer.revision))
            self.world.advance(ask.event_count)
            self.assert_repeat_changes_nothing(self.store.set_aside, ask, answer)
        elif attempt.turn_id in self.world.done:
            assert isinstance(answer, Replayed | Committed)
        elif all(aside.turn_id != attempt.turn_id for aside in self.world.asides):
            assert isinstance(answer, Fenced)
