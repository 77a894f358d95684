"""A runner's transitions: begin, run, prepare, call, end, commit, set aside, and the offset."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model import database, views
from tests.model.effects import ended, preparing
from tests.model.invariants import broken_by_commit, broken_by_giving_up, broken_by_offset
from tests.model.program import waits_for, was_met
from tests.model.replay import choices, forwarded, plan_chosen
from tests.model.rules import Rules
from tests.model.scenario import Scenario
from tests.model.state import (
    Aside,
    Call,
    Continuation,
    Entry,
    Journal,
    Runner,
    Step,
    Turn,
    World,
    aside_of,
    journal_of,
    receipt_of,
    spend,
    with_runner,
)

ATTEMPTING = frozenset({"run", "returning", "exhausted", "send", "wait", "held"})


def idle(runner: Runner) -> Runner:
    """The process between two turns."""
    return Runner(True, runner.generation, runner.position, runner.polled)


def lost(runner: Runner) -> Runner:
    """The process after it has learnt that the partition is another's."""
    return Runner(True)


class RunnerSteps:
    """The transitions of one runner in one world."""

    def __init__(self, rules: Rules, scenario: Scenario, world: World, index: int) -> None:
        self.rules = rules
        self.scenario = scenario
        self.world = world
        self.index = index
        self.runner = world.runners[index]
        self.name = "AB"[index]

    def _to(self, runner: Runner, world: World | None = None) -> World:
        return with_runner(world or self.world, self.index, runner)

    def _step(self, label: str, world: World, is_fault: bool = False, broken: str | None = None) -> Step:
        return Step(f"{self.name} {label}", world, is_fault, broken)

    def steps(self) -> Iterator[Step]:
        """Everything that this process may do, or that may happen to it, next."""
        runner = self.runner
        if not runner.up or runner.at == "refused":
            return
        if runner.at in ATTEMPTING and runner.turn == self.scenario.poison and runner.at != "exhausted":
            yield self._killed(self.world, f"is killed by {runner.turn}", False)
            return
        if runner.at != "idle" and self.world.faults.crash:
            yield self._killed(spend(self.world, "crash"), f"is killed ({runner.at})", True)
        yield from getattr(self, f"_{runner.at}")()

    def _killed(self, world: World, label: str, is_fault: bool) -> Step:
        kills = min(world.kills + 1, self.scenario.limit + 2) if self.scenario.limit else 0
        broken = None
        if self.scenario.limit and kills > self.scenario.limit + 1:
            broken = f"POISON: {self.runner.turn} has killed {kills} processes and is not given up"
        return self._step(label, self._to(Runner(up=False), world._replace(kills=kills)), is_fault, broken)

    # --- between two turns

    def _idle(self) -> Iterator[Step]:
        runner, world = self.runner, self.world
        if not runner.generation:
            return
        current = runner.generation == world.generation
        if not current:
            yield self._step("learns of the revocation", self._to(lost(runner)))
        if runner.position < len(world.log) and (current or runner.position < runner.polled):
            taken = runner._replace(polled=max(runner.polled, runner.position + 1))
            turn = world.log[runner.position]
            if self.rules.begin_reads_after_lock:
                yield from self._begin(taken, turn, self._answer(turn), None)
            else:
                note = self._answer(turn)
                kept = taken._replace(at="snapshot", turn=turn, note=note, journal=journal_of(world.db, turn))
                yield self._step(f"begins {turn}: snapshot taken", self._to(kept))

    def _snapshot(self) -> Iterator[Step]:
        runner = self.runner
        assert runner.turn is not None
        yield from self._begin(idle(runner), runner.turn, runner.note, runner.journal)

    def _answer(self, turn: Turn) -> str:
        db = self.world.db
        if turn in db.turns:
            return "replayed"
        aside = aside_of(db, turn)
        return "set_aside" if aside is not None and aside.state == "open" and self.rules.begin_sees_asides else ""

    def _begin(self, runner: Runner, turn: Turn, answer: str, journal: Journal | None) -> Iterator[Step]:
        """R7's answers; a busy head is waited out."""
        world = self.world
        if answer:
            yield self._step(f"begins {turn}: {answer}", self._finished(runner, world))
            return
        if world.db.head.token and world.db.head.live:
            if runner.at != self.runner.at:
                yield self._step(f"begins {turn}: busy", self._to(runner))
            return
        counts = world.faults.duplicate or world.packets or not self.rules.fence_is_a_counter
        token = world.tokens + 1 if counts else 1
        if counts:
            world = world._replace(tokens=token)
        if world.faults.duplicate:
            world = world._replace(packets=world.packets | {(turn, token)})
        db = database.lease(self.rules, database.rebased(self.rules, world.db, turn), turn, token, self.scenario.limit)
        world = world._replace(db=db)
        head = db.head
        runner = runner._replace(
            at="run", turn=turn, fence=head.fence, token=token, revision=head.revision, sequence=head.sequence
        )
        if self.scenario.limit and head.attempts > self.scenario.limit:
            runner = runner._replace(at="exhausted")
        runner = views.opened(self.rules, db, turn, runner)
        if journal is not None:
            runner = runner._replace(journal=journal, own=journal, must=database.claims(journal))
        yield self._step(f"begins {turn}: fence {head.fence}", self._to(self._forward(runner), world))

    def _forward(self, runner: Runner) -> Runner:
        return forwarded(self.scenario, runner)

    def _finished(self, runner: Runner, world: World) -> World:
        done = idle(runner)._replace(at="done", position=runner.position + 1)
        return self._to(done, world)

    def _done(self) -> Iterator[Step]:
        """Progress goes to the database before the offset goes to Kafka (R39)."""
        runner, world = self.runner, self.world
        if (world.backup is not None or world.faults.backup) and world.db.progress < runner.position:
            stored = world._replace(db=world.db._replace(progress=runner.position))
            yield self._step(f"stores progress {runner.position}", stored)
            return
        if runner.generation != world.generation:
            yield self._step("offset commit refused (older generation)", self._to(lost(runner)))
            return
        moved = world._replace(committed=max(world.committed, runner.position))
        yield self._step(
            f"commits offset {runner.position}", self._to(idle(runner), moved), False, broken_by_offset(moved)
        )

    # --- a turn

    def _run(self) -> Iterator[Step]:
        runner = self.runner
        turn = runner.turn
        yield from self._failing()
        body = runner.resumed or turn
        if isinstance(turn, Continuation) and self._lacks_settlement(turn):
            yield from self._rejects(turn)
        elif isinstance(body, Continuation) or body is None:
            yield from self._commit()
        elif runner.note == "plan":
            for plan in choices(self.scenario, self.world.db, body):
                after = self._forward(plan_chosen(self.scenario, runner, plan))
                yield self._step(f"{turn}: the model plans {plan}", self._to(after))
        elif runner.key:
            yield from self._prepare()
        else:
            yield from self._commit()

    def _lacks_settlement(self, turn: Continuation) -> bool:
        receipt = receipt_of(self.world.db, turn.key)
        missing = receipt is None or receipt.settlements < max(turn.settlement, 1)
        return missing and self.rules.continuations_need_a_settlement

    def _rejects(self, turn: Continuation) -> Iterator[Step]:
        db = self.world.db
        if db.head.fence != self.runner.fence:
            yield self._fenced("rejection")
            return
        row = Aside(turn, "rejected", db.head.memory)
        head = database.freed(db.head)
        world = self.world._replace(db=db._replace(head=head, asides=(*db.asides, row)))
        yield self._step(f"rejects {turn}: no settlement", self._finished(self.runner, world))

    def _failing(self) -> Iterator[Step]:
        """The attempt ends without an outcome, or the turn is given up."""
        runner, world = self.runner, self.world
        mine = world.db.head.fence == runner.fence
        for fault, gives_back in (("failure", False), ("outage", self.rules.release_gives_back)):
            if not getattr(world.faults, fault):
                continue
            after = spend(world, fault)
            if mine:
                after = after._replace(db=database.release(after.db, gives_back))
                counted = fault == "failure" and not self.rules.begin_counts_attempts
                if counted:
                    head = after.db.head
                    after = after._replace(db=after.db._replace(head=head._replace(attempts=head.attempts + 1)))
            if fault == "failure" and self.scenario.limit:
                after = after._replace(own_failures=after.own_failures + 1)
            yield self._step(f"{runner.turn}: {fault}, the attempt ends", self._to(idle(runner), after), True)
        if world.faults.give_up:
            yield from self._set_aside(spend(world, "give_up"), True)

    def _exhausted(self) -> Iterator[Step]:
        yield from self._set_aside(self.world, False)

    def _held(self) -> Iterator[Step]:
        """A divergence: only where the plan is nobody's record any more may one be, and then nothing is guessed (ADR 2)."""
        runner = self.runner
        turn = runner.turn
        assert turn is not None
        if not self.scenario.opaque and aside_of(self.world.db, turn) is None:
            yield self._step(f"{turn} is held", self.world, False, f"HELD: {turn} can never go on: {runner.note}")
            return
        fresh = runner._replace(at="run", seen=(), own=journal_of(self.world.db, turn), key="", note="")
        yield self._step(f"{turn}: held, runs again later", self._to(self._forward(fresh)))
        if self.world.faults.give_up:
            yield from self._set_aside(spend(self.world, "give_up"), True)

    def _set_aside(self, world: World, is_fault: bool) -> Iterator[Step]:
        runner = self.runner
        head = world.db.head
        mine = head.fence == runner.fence and head.token != 0 and head.revision == runner.revision
        if not mine and self.rules.set_aside_is_fenced:
            if runner.at == "exhausted":
                yield self._fenced("set-aside")
            return
        assert runner.turn is not None
        broken = f"BOTH: {runner.turn} is committed and set aside" if runner.turn in world.db.turns else None
        broken = broken or broken_by_giving_up(self.scenario, runner, world)
        after = self._finished(runner, world._replace(db=database.set_aside(self.rules, world.db, runner)))
        yield self._step(f"sets {runner.turn} aside", after, is_fault, broken)

    def _fenced(self, what: str) -> Step:
        if not self.rules.fenced_begins_again:
            return self._step(f"{what} of {self.runner.turn}: fenced, done", self._finished(self.runner, self.world))
        return self._step(f"{what} of {self.runner.turn}: fenced, begins again", self._to(idle(self.runner)))

    # --- effects

    def _prepare(self) -> Iterator[Step]:
        runner, head = self.runner, self.world.db.head
        held = head.fence == runner.fence and head.token != 0 and head.live
        if self.rules.prepare_is_fenced and not held and runner.note != "fence read":
            yield self._fenced(f"prepare {runner.key}")
        elif self.rules.prepare_is_fenced and not self.rules.prepare_locks_the_head and runner.note != "fence read":
            yield self._step(f"prepare {runner.key}: fence read", self._to(runner._replace(note="fence read")))
        else:
            outcome = preparing(self.rules, self.scenario, self.world, runner._replace(note=""))
            after = self._to(self._forward(outcome.runner), outcome.world)
            yield self._step(outcome.label, after, False, outcome.broken)

    def _send(self) -> Iterator[Step]:
        runner = self.runner
        sent = self.world._replace(calls=self.world.calls | {Call(runner.key, runner.attempt, "sent")})
        yield self._step(f"sends {runner.key}#{runner.attempt}", self._to(runner._replace(at="wait"), sent))
        if self.world.faults.uncalled and not self.world.db.head.live:
            yield from self._never_calls(spend(self.world, "uncalled"))

    def _never_calls(self, world: World) -> Iterator[Step]:
        """It notices in time that its lease is over; no program sees that, and its turn begins again."""
        done = ended(self.rules, world, self.runner, "failed", False)
        yield self._step(f"makes no call: {done.label}", self._to(idle(self.runner), done.world), True, done.broken)

    def _wait(self) -> Iterator[Step]:
        runner, world = self.runner, self.world
        mine = [call for call in world.calls if call.key == runner.key and call.attempt == runner.attempt]
        for call in mine:
            if call.state != "sent":
                word = "completed" if call.state == "applied" else "failed"
                yield from self._ends(world, word, False)
        if not mine:
            yield from self._ends(world, "uncertain", False)
        elif world.faults.timeout:
            yield from self._ends(spend(world, "timeout"), "uncertain", True)
        if world.faults.abandon:
            left = (*runner.seen, Entry("left", runner.key, ()))
            gone = runner._replace(at="returning", seen=left, key="", attempt=0)
            yield self._step(f"abandons {runner.key} at the deadline", self._to(gone, spend(world, "abandon")), True)

    def _ends(self, world: World, outcome: str, is_fault: bool) -> Iterator[Step]:
        repeats = (False, True) if world.faults.repeat else (False,)
        for repeat in repeats:
            start = spend(world, "repeat") if repeat else world
            done = ended(self.rules, start, self.runner, outcome, repeat)
            after = self._to(self._forward(done.runner), done.world)
            label = done.label + (" (twice: the first reply was lost)" if repeat else "")
            yield self._step(label, after, is_fault or repeat, done.broken)

    # --- commit

    def _returning(self) -> Iterator[Step]:
        yield from self._commit()

    def _commit(self) -> Iterator[Step]:
        runner, world = self.runner, self.world
        turn = runner.turn
        assert turn is not None
        head = world.db.head
        unmet = sorted(key for key in runner.must if not was_met(runner.seen, key))
        if unmet and self.rules.retries_meet_claims:
            yield self._step(
                f"commit of {turn}: unclaimed", self._to(runner._replace(at="held", note=f"unmet {unmet}"))
            )
            return
        if head.fence != runner.fence or not head.token or head.revision != runner.revision:
            yield self._fenced("commit")
            return
        broken = broken_by_commit(self.scenario, world, runner)
        waits = waits_for(runner.seen)
        after = world._replace(db=database.commit(self.rules, world.db, runner, waits))
        if self.scenario.announced and (world.backup is not None or world.faults.backup):
            after = after._replace(topic=(*world.topic, runner.sequence))
        label = f"commits {turn}" + (f", blocked on {sorted(waits)}" if waits else "")
        yield self._step(label, self._finished(runner, after), False, broken)
