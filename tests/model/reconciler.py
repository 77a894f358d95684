"""The reconciler's and the operators' transitions: scan, look, settle, contest, repeat, own continuations, redrive."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model import database
from tests.model.effects import is_open
from tests.model.rules import Rules
from tests.model.scenario import Scenario
from tests.model.state import (
    EARLY_REPEAT,
    REPEAT,
    Aside,
    Call,
    Continuation,
    Look,
    Receipt,
    Step,
    World,
    applied,
    aside_of,
    journal_of,
    receipt_of,
    spend,
    with_receipt,
)

OPPOSITE = {"completed": "failed", "failed": "completed"}


class ReconcilerSteps:
    """Everything that people and the reconciler may do in one world."""

    def __init__(self, rules: Rules, scenario: Scenario, world: World) -> None:
        self.rules = rules
        self.scenario = scenario
        self.world = world

    def steps(self) -> Iterator[Step]:
        """Their next transitions."""
        for key, receipt in self.world.db.receipts:
            yield from self._scan(key, receipt)
            if receipt.state == "uncertain" and not receipt.contradicted and self._has_item(key):
                yield from self._look(key, receipt)
                yield from self._decide(key, receipt)
            if receipt.contradicted and self._has_item(key) and self._is_over(key):
                yield self._contest(key)
        for look in sorted(self.world.looks):
            yield self._settle(look)
        yield from self._retries()
        yield from self._own()
        for aside in self.world.db.asides:
            if aside == aside_of(self.world.db, aside.turn) and aside.state == "open":
                yield from self._redrive(aside)

    def _has_item(self, key: str) -> bool:
        if not self.scenario.items:
            return True
        return any(i.key == key and i.kind == "uncertain" and i.phase == "open" for i in self.world.db.items)

    def _scan(self, key: str, receipt: Receipt) -> Iterator[Step]:
        """R27: compare with the live lease on the head; whatever is open has an item."""
        db, head = self.world.db, self.world.db.head
        if receipt.state == "prepared" and not (receipt.fence == head.fence and head.token and head.live):
            moved = database.move(db, key, "uncertain")
            if self.scenario.items:
                moved = database.open_item(moved, key)
            yield Step(f"scan: {key} is past its lease, uncertain", self.world._replace(db=moved))
        elif is_open(receipt) and not self._has_item(key) and self.rules.items_are_level_triggered:
            opened = database.open_item(db, key)
            yield Step(f"scan: an item for {key}", self.world._replace(db=opened))

    # --- what may be believed (R22)

    def _on_its_way(self, key: str) -> bool:
        return any(
            call.key == key and call.state == "sent" and (call.attempt > 0 or self.rules.retry_locks_the_item)
            for call in self.world.calls
        )

    def _may_send(self, key: str) -> bool:
        return any(runner.up and runner.at == "send" and runner.key == key for runner in self.world.runners)

    def _is_over(self, key: str) -> bool:
        """Nothing of this effect can happen any more."""
        quiet = not self._on_its_way(key) or not self.rules.absence_needs_quiet
        return quiet and not (self._may_send(key) and self.rules.absence_needs_the_end)

    def _locked(self, key: str) -> bool:
        return key in self.world.retries and self.rules.retry_locks_the_item

    def _look(self, key: str, receipt: Receipt) -> Iterator[Step]:
        if not self.world.faults.look or self._locked(key):
            return
        found = applied(self.world, key) > 0
        if found or self._is_over(key):
            after = spend(self.world, "look")
            after = after._replace(looks=after.looks | {Look(key, found, receipt.version)})
            yield Step(f"resolver looks up {key}: {'found' if found else 'absent'}", after)

    def _settle(self, look: Look) -> Step:
        receipt = receipt_of(self.world.db, look.key)
        rest = self.world._replace(looks=self.world.looks - {look})
        fits = receipt is not None and receipt.state == "uncertain" and not receipt.contradicted
        if receipt is None or not fits or self._locked(look.key):
            return Step(f"resolver's answer on {look.key} is too late", rest)
        if receipt.version != look.version and self.rules.settle_compares_versions:
            return Step(f"resolver's answer on {look.key} is too late", rest)
        state = "completed" if look.found else "failed"
        settled = rest._replace(db=database.settle(self.rules, rest.db, look.key, state))
        return Step(f"resolver settles {look.key}: {state}", settled)

    def _decide(self, key: str, receipt: Receipt) -> Iterator[Step]:
        """A person. Where no look is left one comes in the end, so that nothing is stuck for want of a budget."""
        faults = self.world.faults
        truth = "completed" if applied(self.world, key) else "failed"
        certain = (truth == "completed" or self._is_over(key)) and not self._locked(key)
        if faults.decision and certain:
            yield self._decided(spend(self.world, "decision"), key, truth)
        if faults.lie and not self._locked(key):
            wrong = spend(self.world, "lie")._replace(lied=True)
            yield self._decided(wrong, key, OPPOSITE[truth], True)
        waiting = any(look.key == key for look in self.world.looks)
        last = certain and not (faults.look or faults.decision or waiting) and not self._may_send(key)
        if last and (truth == "completed" or not self._on_its_way(key)):
            yield self._decided(self.world, key, truth)

    def _decided(self, world: World, key: str, state: str, is_fault: bool = False) -> Step:
        settled = world._replace(db=database.settle(self.rules, world.db, key, state))
        word = "wrongly" if is_fault else "with the truth"
        return Step(f"a person settles {key} {word}: {state}", settled, is_fault)

    def _contest(self, key: str) -> Step:
        """R25: the only way out of a contradiction; a settlement like any other."""
        truth = "completed" if applied(self.world, key) else "failed"
        db = database.settle(self.rules, self.world.db, key, truth, self.rules.contest_is_a_settlement)
        return Step(f"a contest: {key} is {truth}", self.world._replace(db=db))

    # --- the identical call again (R26)

    def _retries(self) -> Iterator[Step]:
        world = self.world
        for key, receipt in world.db.receipts:
            doubtful = receipt.state == "uncertain" and not receipt.contradicted and key not in world.retries
            inside = key in world.remembered or not self.rules.retry_inside_window
            if world.faults.retry and self.scenario.remembers and doubtful and inside:
                sent = spend(world, "retry")
                call = Call(key, REPEAT if self._is_over(key) else EARLY_REPEAT, "sent")
                db = with_receipt(sent.db, key, receipt._replace(repeated=True))
                after = sent._replace(db=db, calls=sent.calls | {call}, retries=sent.retries | {key})
                yield Step(f"resolver repeats the call of {key}", after)
        for call in sorted(world.calls):
            if call.attempt < 0 and call.state != "sent":
                yield self._answered(call)

    def _answered(self, call: Call) -> Step:
        key = call.key
        world = self.world._replace(retries=self.world.retries - {key}, calls=self.world.calls - {call})
        receipt = receipt_of(world.db, key)
        db, state = world.db, "completed" if call.state == "applied" else "failed"
        proves = state == "completed" or call.attempt == REPEAT or not self.rules.refused_repeats_are_looks
        if receipt is not None and receipt.state == "uncertain" and proves:
            db = database.settle(self.rules, db, key, state)
        elif receipt is not None and receipt.state == OPPOSITE[state] and proves:
            db = database.contradict(db, key)
        return Step(f"the repeat of {key} is answered: {state}", world._replace(db=db))

    # --- continuations are owned (R31)

    def _own(self) -> Iterator[Step]:
        db = self.world.db
        for key, receipt in db.receipts:
            name = Continuation(key, receipt.settlements, receipt.issues)
            aside = aside_of(db, name)
            waits = any(pair[1] == key for pair in db.blocked)
            if aside is not None and aside.state == "open" and waits and self.rules.items_own_continuations:
                again = database.ask(self.rules, db, key)
                yield Step(f"reconciler issues the continuation of {key} again", self.world._replace(db=again))
            elif self.world.restored and waits and receipt.settlements and self._is_lost(name):
                again = db._replace(outbox=(*db.outbox, name))
                yield Step(f"reconciler publishes {name} again", self.world._replace(db=again))

    def _is_lost(self, name: Continuation) -> bool:
        world = self.world
        held = any(runner.turn == name for runner in world.runners)
        receipt = receipt_of(world.db, name.key)
        settled = receipt is not None and receipt.state in ("completed", "failed") and not receipt.contradicted
        ahead = name in world.log[world.committed :] or name in world.db.outbox
        return settled and not held and not ahead and name not in world.db.turns and aside_of(world.db, name) is None

    # --- set-aside turns (R33)

    def _redrive(self, aside: Aside) -> Iterator[Step]:
        world = self.world
        if not world.faults.redrive:
            return
        held = [receipt_of(world.db, key) for key in database.claims(journal_of(world.db, aside.turn))]
        if self.rules.redrive_needs_settled and any(r is not None and is_open(r) for r in held):
            return
        flipped = spend(world, "redrive")
        flipped = flipped._replace(db=database.redrive(flipped.db, aside))
        if not self.rules.redrive_is_one_step:
            yield Step(f"redrive of {aside.turn}: flipped, the operator's process dies", flipped, True)
        sent = flipped._replace(db=flipped.db._replace(outbox=(*flipped.db.outbox, aside.turn)))
        yield Step(f"operator redrives {aside.turn}", sent)
