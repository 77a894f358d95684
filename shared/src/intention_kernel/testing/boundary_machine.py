"""A Hypothesis state machine of the durable boundary: several attempts of several turns of one thread, with crashes,
leases that end, calls that are sent late, late answers, repeated statements, redrives and settlements on true evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from intention_kernel.ports.effect_store import Completed, EndAnswer, Prepared, Uncertain
from intention_kernel.ports.turn_store import Fenced
from intention_kernel.testing.boundary_calls import end_of, prepare_of
from intention_kernel.testing.boundary_harness import BoundaryHarness, snapshot
from intention_kernel.testing.boundary_machine_redrives import RedriveRules
from intention_kernel.testing.boundary_machine_turns import LEASE_SECONDS, PICK
from intention_kernel.testing.boundary_world import Call, check_invariants

ORDERS = st.sampled_from(("1", "2"))
RESTORED = st.sampled_from((False, False, False, True))


class BoundaryMachine(RedriveRules):
    """The rules about effects, and what must hold after every step."""

    @precondition(lambda self: self.living())
    @rule(pick=PICK, order=ORDERS, restored=RESTORED)
    def prepares(self, *, pick: int, order: str, restored: bool) -> None:
        """R3, R14: permission to call once, or a reason not to; the provider's ledger tells whether that was right.

        R39: what a lost database may have had and this one does not know is uncertain, and nobody is called.
        """
        attempt = self.living()[pick % len(self.living())]
        ask = replace(prepare_of(self.thread, attempt.turn_id, attempt.begun.fence, order), lease_seconds=LEASE_SECONDS)
        ask = replace(ask, restored=restored)
        known = {receipt.effect_key for receipt in self.run(self.boundary.receipts(self.thread))}
        answer = self.run(self.store.prepare(ask))
        if not (self.world.has_thread(attempt) and self.world.lease_is_live):
            assert isinstance(answer, Fenced)
            return
        attempt.met.add(ask.effect_key)
        attempt.uncertain.discard(ask.effect_key)
        if restored and ask.effect_key not in known:
            assert isinstance(answer, Uncertain)
            self.world.claimed[attempt.turn_id].add(ask.effect_key)
        if isinstance(answer, Prepared):
            self.world.claimed[attempt.turn_id].add(ask.effect_key)
            assert all(
                (call.ask.effect_key, call.number) != (ask.effect_key, answer.attempt) for call in self.world.calls
            )
            self.world.calls.append(Call(ask, answer.attempt))
            self.assert_repeat_changes_nothing(self.store.prepare, ask, answer)
        elif isinstance(answer, Uncertain):
            attempt.uncertain.add(ask.effect_key)
        else:
            assert isinstance(answer, Completed)
            assert self.world.ledger[ask.effect_key] == 1

    @precondition(lambda self: any(call.may_send for call in self.open_calls()))
    @rule(pick=PICK, refused=st.booleans())
    def a_call_is_sent(self, *, pick: int, refused: bool) -> None:
        """Whenever its process gets to it: before or after everything else that may have happened."""
        calls = [call for call in self.open_calls() if call.may_send]
        call = calls[pick % len(calls)]
        call.may_send = False
        call.refused, call.applied = refused, not refused
        if call.applied:
            self.world.ledger[call.ask.effect_key] += 1

    @precondition(lambda self: self.open_calls())
    @rule(pick=PICK, gives_up=st.booleans())
    def an_attempt_ends(self, *, pick: int, gives_up: bool) -> None:
        """R14, R24: recorded, settled late, or agreeing; gives up: the answer does not arrive in time."""
        call = self.open_calls()[pick % len(self.open_calls())]
        outcome = "uncertain" if gives_up else call.truth()
        if outcome == "uncertain" and not gives_up:
            return  # it has not been sent, and its coroutine goes on
        ask = replace(end_of(call.ask, outcome), returned=not call.may_send)
        answer = self.run(self.store.end(ask))
        assert isinstance(answer, EndAnswer)
        assert answer.how != "contradicts"
        attempt = next(attempt for attempt in self.world.attempts if attempt.begun.fence == call.ask.fence)
        seen = outcome if answer.how in ("recorded", "settled", "agrees") else "uncertain"
        (attempt.uncertain.add if seen == "uncertain" else attempt.uncertain.discard)(call.ask.effect_key)
        before = self.run(snapshot(self.boundary, self.thread))
        again = self.run(self.store.end(ask))
        assert isinstance(again, EndAnswer)
        assert again.state == answer.state
        assert self.run(snapshot(self.boundary, self.thread)) == before

    @rule(order=ORDERS, another_first=st.booleans())
    def a_turn_is_given_up_and_redriven(self, *, order: str, another_first: bool) -> None:
        """R15, R33: all of it in a row, since chance alone seldom comes that far; perhaps on another memory."""
        if not self.world.lease_is_live:
            self.begins(0)
        holder = self.world.holder
        if holder is None or holder.of is not None or not holder.alive:
            return
        self.prepares(pick=self.living().index(holder), order=order, restored=False)
        for call in [one for one in self.open_calls() if one.ask.fence == holder.begun.fence and one.may_send]:
            sendable = [one for one in self.open_calls() if one.may_send]
            self.a_call_is_sent(pick=sendable.index(call), refused=False)
            self.an_attempt_ends(pick=self.open_calls().index(call), gives_up=False)
        self.sets_aside(self.living().index(holder))
        if another_first:
            self.begins(0)
            if (other := self.world.holder) is not None:
                self.commits(pick=self.living().index(other), adopt=True, off_by_one=False)
        self.redrives(pick=len(self.world.asides) - 1, is_meant=True)
        if not self.world.lease_is_live and holder.turn_id in (records := self.next_records()):
            self.begins(records.index(holder.turn_id))

    @rule()
    def scans(self) -> None:
        """R27: what has no live attempt becomes uncertain and gets its item."""
        self.run(self.boundary.scan())

    @rule(pick=PICK, stale=st.booleans())
    def settles(self, *, pick: int, stale: bool) -> None:
        """R22, R23: on true evidence, and only as the receipt was when the evidence was gathered."""
        receipts = self.run(self.boundary.receipts(self.thread))
        if not receipts:
            return
        receipt = receipts[pick % len(receipts)]
        applied = self.world.ledger[receipt.effect_key] > 0
        if not applied and self.world.can_take_effect(receipt.effect_key):
            return
        version = receipt.version - 1 if stale else receipt.version
        outcome: Literal["completed", "failed"] = "completed" if applied else "failed"
        settled = self.run(self.boundary.settle(receipt.receipt_id, version, outcome, b"{}" if applied else None))
        assert settled == (receipt.state == "uncertain" and not stale)

    @invariant()
    def store_and_world_agree(self) -> None:
        """Once each, in order, nothing wrong, nothing forgotten."""
        self.run(check_invariants(self.boundary, self.world, self.thread))


def check_boundary(
    open_boundary: Callable[[], BoundaryHarness], loop: asyncio.AbstractEventLoop, *, examples: int, steps: int
) -> None:
    """Run the machine that often, always the same way; raises what it finds, with the steps that lead there."""

    class Machine(BoundaryMachine):
        def __init__(self) -> None:
            super().__init__(open_boundary(), loop)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
