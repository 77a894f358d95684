"""A state machine of what becomes of a receipt: scans, looks, identical retries, late answers, contests and their decisions,
on true evidence and by the real terms, against a provider that knows what it did."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

import asyncpg
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from intention_kernel.ids import random_id
from intention_kernel.ports.effect_store import EndAnswer
from intention_kernel.ports.operator_queue import Alone, Contest, Contested, Decides, NotSettled
from intention_kernel.ports.receipt_ledger import (
    Changed,
    Late,
    OpenReceipt,
    Resolution,
    RetryAnswer,
    RetryBegun,
    RetryRefused,
    Settled,
    Settlement,
)
from intention_kernel.postgres.operator_queue import PostgresQueue, open_queue
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.reconciliation.admissible import WINDOW_MARGIN_SECONDS, Admitted, Look, not_applied
from intention_kernel.testing.boundary_calls import end_of

from tests.machines.receipts_world import CALL_SECONDS, TERMS, WINDOW_SECONDS, Retry, Seen, World

Result = TypeVar("Result")
PEOPLE = st.sampled_from(("ana", "ben"))
BEGINNINGS = ("prepared", "uncertain", "repeated", "repeated when it is there", "settled", "settled too early")
WINDOW_END = WINDOW_SECONDS - WINDOW_MARGIN_SECONDS - CALL_SECONDS


class ReceiptMachine(RuleBasedStateMachine):
    """Every rule may happen at any time; what the answer has to be follows from the receipt before and from the world."""

    def __init__(self, loop: asyncio.AbstractEventLoop, world: World) -> None:
        super().__init__()
        self.loop = loop
        self.world = world
        self.looked: list[Settlement] = []

    def run(self, coroutine: Coroutine[object, object, Result]) -> Result:
        """One call, to its end."""
        return self.loop.run_until_complete(coroutine)

    def seen(self) -> Seen:
        """The receipt now."""
        return self.run(self.world.seen())

    @initialize(deduplicates=st.booleans(), begins_as=st.sampled_from(BEGINNINGS))
    def is_prepared(self, *, deduplicates: bool, begins_as: str) -> None:
        """Of an effect whose provider keeps our key for a while, or of one that knows nothing of keys; perhaps somewhat later."""
        self.run(self.world.prepare(deduplicates=deduplicates))
        if begins_as != "prepared":
            self.the_scanner_comes("lease")
        if begins_as == "repeated when it is there":
            self.the_attempt_calls()
            self.the_attempt_calls()
        if begins_as.startswith("repeated"):
            self.a_retry_begins()
        if begins_as == "settled too early":
            self.time_passes(13_000.0)
            self.conclude()
        if begins_as.startswith("settled"):
            self.the_attempt_calls()
            self.the_attempt_calls()
            self.conclude()

    def conclude(self) -> None:
        """Look, and settle where that proves something."""
        self.somebody_looks(person=False)
        if self.looked:
            self.settles()

    @rule(seconds=st.sampled_from((1_000.0, 13_000.0, 31_000.0, 62_000.0)))
    def time_passes(self, seconds: float) -> None:
        """Deadlines, quiet periods, windows."""
        self.run(self.world.pass_by(seconds))

    @rule(what=st.sampled_from(("lease", "scan", "scan")))
    def the_scanner_comes(self, what: str) -> None:
        """R27: a live attempt is left alone; afterwards what needs somebody has exactly one open item, and nothing else has."""
        if what == "lease":
            sql = "update threads set lease_until = clock_timestamp() - interval '1 s' where thread_id = $1 and lease_nonce is not null"
            self.run(self.world.connection.execute(sql, self.world.thread))
            self.world.lease_is_live = False
        before = self.seen()
        self.run(self.world.queue.scan(1_000))
        after = self.seen()
        if before.state == "prepared":
            assert (after.state == "prepared") == self.world.lease_is_live, "R27: a live attempt"
        assert after.open_items == after.next_items == int(after.needs_somebody), "R27: one item"

    @precondition(lambda self: self.world.attempt.may_arrive)
    @rule()
    def the_attempt_calls(self) -> None:
        """Its request leaves, or arrives; one whose key the provider keeps leaves while that is certain."""
        call = self.world.attempt
        if call.may_send and not (self.world.deduplicates and self.world.now > WINDOW_END):
            call.may_send, call.sent_at = False, self.world.now
        elif call.is_on_its_way:
            self.world.arrive(call)

    @rule(arrives=st.booleans(), unsent=st.sampled_from((False, False, False, True)))
    def the_attempt_answers(self, *, arrives: bool, unsent: bool) -> None:
        """R14, R24, R25: recorded, a settlement, agreement, or a contradiction that flags and changes no state."""
        call, before = self.world.attempt, self.seen()
        if call.is_on_its_way and arrives:
            self.world.arrive(call)
        never_called = call.may_send
        if never_called and not unsent:
            return
        outcome = "uncertain" if call.is_on_its_way else "failed" if never_called else "completed"
        if outcome == "completed" and not self.world.applied:
            return
        call.may_send = False
        answer = self.run(self.world.store.end(end_of(self.world.ask, outcome)))  # type: ignore[arg-type]
        assert isinstance(answer, EndAnswer)
        after = self.seen()
        if answer.how == "contradicts":
            assert after.state == before.state
            assert after.contradicted, "R25: an answer that disagrees flags"
            assert after.next_items == 1
        if before.state in ("completed", "failed") and outcome != "uncertain" and outcome != before.state:
            repeated = outcome == "failed" and bool(self.world.retries)
            assert answer.how == ("ignored" if repeated else "contradicts")

    @rule(what=st.sampled_from(("restart", "person")))
    def processes_end(self, what: str) -> None:
        """R22 (c): a newer boot proves that the attempt is over; a person says that nothing runs any more."""
        if what == "person":
            self.run(self.world.workers_stopped())
            return
        self.world.attempt.may_send = False
        sql = "update processes set boot = $2, started_at = clock_timestamp() where instance = $1 and boot = $3"
        self.run(self.world.connection.execute(sql, self.world.thread, random_id(), self.world.boot))

    @rule(person=st.booleans())
    def somebody_looks(self, *, person: bool) -> None:
        """What they conclude is kept: the settlement may come at once, or after whatever else happens."""
        due = self.run(self.world.due())
        if (settlement := self.concluded(due, "ben" if person else "resolver:lookup")) is not None:
            self.looked.append(settlement)

    def concluded(self, due: OpenReceipt, actor: str) -> Settlement | None:
        """On what the provider has now, and by R22 where it has nothing."""
        if self.world.applied:
            return settlement(due, "applied", actor)
        verdict = not_applied(
            due.attempts, TERMS, Look(due.looked_at, workers_stopped_at=self.stopped_at()), due.looked_at
        )
        if not isinstance(verdict, Admitted):
            return None
        in_window = self.world.deduplicates and self.world.now <= WINDOW_END
        assert in_window or not self.world.can_take_effect(), f"R22: {verdict.reason}"
        assert (verdict.not_after is not None) == in_window, "R22 (a): only as long as the provider knows the key"
        return replace(settlement(due, "not_applied", actor), not_after=verdict.not_after)

    def stopped_at(self) -> datetime | None:
        """When a person said so of this attempt."""
        sql = "select min(at) from audit_log where thread_id = $1 and action = 'workers_stopped'"
        at: datetime | None = self.run(self.world.connection.fetchval(sql, self.world.thread))
        return at

    @precondition(lambda self: self.looked)
    @rule()
    def settles(self) -> None:
        """R23, R26: only as it was seen, only while it is admitted, and never beside a running retry."""
        given, before = self.looked.pop(), self.seen()
        answer = self.run(self.world.queue.settle(given))
        late = given.not_after is not None and self.world.now > WINDOW_END
        if before.state != "uncertain" or before.contradicted:
            assert isinstance(answer, Changed)
        elif self.world.running is not None:
            assert isinstance(answer, Changed), "R26: settled beside a retry"
            assert answer.retrying
        elif given.seen_version != before.version:
            assert isinstance(answer, Changed), "R23"
        elif late:
            assert isinstance(answer, Late), "R22 (a)"
        else:
            assert isinstance(answer, Settled)
            self.world.contested_by.clear()

    @rule()
    def a_retry_begins(self) -> None:
        """R26: recorded, of what is uncertain, one at a time, inside of the window that the first prepare pinned."""
        before, due = self.seen(), self.run(self.world.due())
        answer = self.run(self.world.queue.begin_retry(due, CALL_SECONDS, WINDOW_MARGIN_SECONDS))
        if before.state != "uncertain" or before.contradicted or self.world.running is not None:
            assert answer == RetryRefused(window_closed=False), "R26: one at a time"
        elif not self.world.deduplicates or self.world.now > WINDOW_END:
            assert answer == RetryRefused(window_closed=True), "R26: the window"
        else:
            assert isinstance(answer, RetryBegun)
            unfinished = any(retry.until > -1 for retry in self.world.retries)
            assert answer.earlier_unfinished == unfinished
            retry = Retry(due, answer.version, unfinished, self.world.now + CALL_SECONDS)
            self.world.retries.append(retry)

    @precondition(lambda self: self.world.running is not None and self.world.running.call.may_send)
    @rule(arrives=st.booleans(), answers=st.booleans())
    def a_retry_ends(self, *, arrives: bool, answers: bool) -> None:
        """R24-R26: its answer is an answer of the attempt; without one the receipt stays as it is, and others look again."""
        retry, before = self.world.running, self.seen()
        assert retry is not None
        retry.call.may_send = False
        if arrives:
            self.world.arrive(retry.call)
        ended = not retry.earlier_unfinished
        if arrives and answers:
            given = replace(settlement(retry.due, "applied", "resolver:idempotent_retry"), seen_version=retry.version)
            how = self.run(
                self.world.queue.answer_retry(RetryAnswer(given, retry.due.receipt.attempt, random_id(), ended))
            )
            open_before = before.state == "uncertain" and not before.contradicted
            expected = "settled" if open_before else "agrees" if before.state == "completed" else "contradicts"
            assert how == expected
            if how == "settled":
                self.world.contested_by.clear()
        else:
            self.run(
                self.world.queue.end_retry(retry.due, RetryBegun(retry.version, retry.earlier_unfinished), ended=ended)
            )
            assert self.seen().state == before.state
            if before.state != "uncertain" or before.version != retry.version:
                return  # settled meanwhile by the attempt's own answer, or contradicted: it is that version's no more
        for one in self.world.retries:
            one.until = -1.0 if ended else min(one.until, self.world.now if not (arrives and answers) else one.until)

    @rule(who=PEOPLE, stale=st.booleans())
    def contests(self, *, who: str, stale: bool) -> None:
        """R25: what was settled, as it was shown; no state changes, and it is open on top."""
        before, due = self.seen(), self.run(self.world.due())
        version = before.version - int(stale)
        place = (self.world.thread, self.world.ask.effect_key, version, random_id().hex)
        answer = self.run(self.world.queue.contest(Contest(*place, who, "no such thing")))
        after = self.seen()
        if self.world.running is not None or stale:
            assert isinstance(answer, Changed)
        elif not before.contradicted and (before.state not in ("completed", "failed") or not before.settlements):
            assert isinstance(answer, NotSettled)
        else:
            assert isinstance(answer, Contested)
            assert (after.state, after.settlements) == (due.receipt.state, before.settlements)
            assert after.contradicted, "R25: a contest flags"
            assert after.next_items == 1
            self.world.contested_by.add(who)

    @rule(who=PEOPLE)
    def a_contest_is_decided(self, who: str) -> None:
        """R25: by another person than the one who contests, on true evidence; afterwards nothing is in doubt."""
        before, due = self.seen(), self.run(self.world.due())
        given = self.concluded(due, who)
        if given is None:
            return
        answer = self.run(self.world.queue.decide(given, contested=True, look_only=False))
        if self.world.running is not None or not before.contradicted or before.state == "prepared":
            assert isinstance(answer, Changed)
        elif not self.world.contested_by - {who}:
            assert isinstance(answer, Alone), "R25: a second person"
        else:
            assert isinstance(answer, Decides)
            assert not self.seen().contradicted
            self.world.contested_by.clear()

    @invariant()
    def record_and_provider_agree(self) -> None:
        """One effect at most; and a record that nothing contradicts says what is so, since all evidence in this world is true."""
        assert self.world.applied <= 1, "DOUBLE EFFECT"
        if not hasattr(self.world, "ask"):
            return
        now = self.seen()
        if now.state == "completed" and not now.contradicted:
            assert self.world.applied == 1
        if now.state == "failed" and not now.contradicted and not self.world.deduplicates:
            assert not self.world.applied
            assert not self.world.can_take_effect(), "R22: it may still take effect"

    def teardown(self) -> None:
        """What it leaves is nobody's: scans of later examples pass it by."""
        sql = "update reconciliation_items set phase = 'done' where thread_id = $1"
        self.run(self.world.connection.execute(sql, self.world.thread))


def settlement(due: OpenReceipt, resolution: Resolution, actor: str) -> Settlement:
    """A decision of its own about the receipt as it was read."""
    return Settlement(
        thread_id=due.receipt.thread_id,
        effect_key=due.receipt.effect_key,
        seen_version=due.receipt.version,
        resolution=resolution,
        value=b'{"done":true}' if resolution == "applied" else None,
        reference=None,
        decision_id=random_id().hex,
        reason_code=None,
        reason="seen",
        evidence="a statement",
        actor=actor,
    )


def test_no_interleaving_makes_a_receipt_say_what_is_not_so(shared_database: str) -> None:
    """R22-R27: settled on what R22 admits, as it was seen, never beside a retry; contested and decided by two; one open item."""
    with asyncio.Runner() as runner:
        store, queue = PostgresStore.open(shared_database), open_queue(shared_database, pool_size=1)
        opened = (runner.run(store.__aenter__()), runner.run(queue.__aenter__()))
        connection = runner.run(asyncpg.connect(shared_database))
        try:
            check(runner.get_loop(), connection, *opened)
        finally:
            runner.run(connection.close())
            runner.run(queue.__aexit__(None, None, None))
            runner.run(store.__aexit__(None, None, None))


def check(
    loop: asyncio.AbstractEventLoop, connection: asyncpg.Connection, store: PostgresStore, queue: PostgresQueue
) -> None:
    """Run the machine, always the same way."""

    class Machine(ReceiptMachine):
        def __init__(self) -> None:
            super().__init__(loop, World(connection, store, queue))

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=30,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate,),
        ),
    )
