"""What surrounds the processes: group coordinator, leases, relay, provider, network, backups and restores."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model import database
from tests.model.effects import is_open
from tests.model.rules import Rules
from tests.model.runner import idle
from tests.model.scenario import Scenario
from tests.model.state import Call, Runner, Step, World, aside_of, spend, with_runner

# No process of the lost database can have had a fence, or have seen a version, so far ahead.
_GAP = 1000


class EnvironmentSteps:
    """Everything that happens around the processes in one world."""

    def __init__(self, rules: Rules, scenario: Scenario, world: World) -> None:
        self.rules = rules
        self.scenario = scenario
        self.world = world

    def steps(self) -> Iterator[Step]:
        """Its next transitions."""
        yield from self._group()
        yield from self._leases()
        yield from self._packets()
        if self.world.db.outbox:
            yield Step(f"relay publishes {self.world.db.outbox[0]}", published(self.world, 1))
        for call in sorted(self.world.calls):
            yield from self._provider(call)
        if self.world.faults.forget:
            yield from self._forgets()
        yield from self._restores()

    # --- the group

    def _group(self) -> Iterator[Step]:
        world, other = self.world, 1 - self.world.owner
        owner, second = world.runners[world.owner], world.runners[other]
        free = self.scenario.two_runners and second.up and second.at == "idle"
        if world.faults.rebalance and free and not second.generation:
            after = assigned(self.rules, spend(world, "rebalance"), other)
            yield Step(f"rebalance: the partition goes to {'AB'[other]}", after, True)
        if owner.up:
            if (
                owner.generation == 0
                and owner.at == "idle"
                and not (second.up and second.generation == world.generation)
            ):
                yield Step(f"{'AB'[world.owner]} joins again", assigned(self.rules, world, world.owner))
            return
        if free and second.generation in (0, world.generation):
            yield Step(f"session timeout: the partition goes to {'AB'[other]}", assigned(self.rules, world, other))
        else:
            fresh = with_runner(world, world.owner, Runner())
            yield Step(f"{'AB'[world.owner]} starts again", assigned(self.rules, fresh, world.owner))

    # --- time and packets

    def _leases(self) -> Iterator[Step]:
        world, head = self.world, self.world.db.head
        if not (head.live and head.token):
            return
        dead = world._replace(db=world.db._replace(head=head._replace(live=False)))
        holder = any(r.up and r.fence == head.fence and r.at not in ("idle", "done") for r in world.runners)
        if not holder:
            yield Step("the lease expires, nobody holds it", dead)
        elif world.faults.pause:
            yield Step("the lease expires, its holder is paused", spend(dead, "pause"), True)

    def _packets(self) -> Iterator[Step]:
        """R1: a begin that was sent twice arrives once more."""
        world = self.world
        for turn, token in sorted(world.packets, key=str):
            head = world.db.head
            if not world.faults.duplicate or turn in world.db.turns or aside_of(world.db, turn) or head.live:
                continue
            db = database.lease(self.rules, world.db, turn, token, self.scenario.limit)
            after = spend(world, "duplicate")._replace(db=db, packets=frozenset())
            yield Step(f"a late duplicate of a begin of {turn} arrives", after, True)

    # --- the provider

    def _provider(self, call: Call) -> Iterator[Step]:
        world = self.world
        if call.state != "sent":
            return
        others = world.calls - {call}
        ledger = dict(world.ledger)
        known = self.scenario.remembers and call.key in world.remembered and ledger.get(call.key, 0)
        ledger[call.key] = ledger.get(call.key, 0) + (0 if known else 1)
        done = world._replace(calls=others | {call._replace(state="applied")}, ledger=tuple(sorted(ledger.items())))
        yield Step(f"provider applies {call.key}#{call.attempt}", done)
        if world.faults.lost_call and call.attempt > 0:
            yield Step(f"{call.key}#{call.attempt} is lost", spend(world, "lost_call")._replace(calls=others), True)
        if world.faults.refusal and not known:
            refused = spend(world, "refusal")._replace(calls=others | {call._replace(state="refused")})
            yield Step(f"provider refuses {call.key}#{call.attempt}", refused, True)

    def _forgets(self) -> Iterator[Step]:
        """The window is over. It is counted so that no call inside it is still on its way (R26)."""
        world = self.world
        for key in sorted(world.remembered):
            if not any(call.key == key and call.state == "sent" for call in world.calls):
                after = spend(world, "forget")._replace(remembered=world.remembered - {key})
                yield Step(f"provider forgets {key}", after, True)

    # --- an older database (R39)

    def _restores(self) -> Iterator[Step]:
        world = self.world
        if world.faults.backup:
            yield Step("a backup is taken", spend(world, "backup")._replace(backup=world.db), True)
        if world.faults.restore and world.backup is not None:
            after = spend(world, "restore")._replace(db=world.backup, restored=True)
            if not self.scenario.live_restore:
                after = after._replace(runners=(Runner(up=False), Runner(up=False)))
            if self.scenario.announced:
                after = recovered(self.rules, after)
            yield Step("the database is restored", after, True)
        owner = world.runners[world.owner]
        if owner.at == "refused":
            after = recovered(self.rules, with_runner(world, world.owner, idle(owner)._replace(generation=0)))
            yield Step("operator recovers", after)


def published(world: World, count: int) -> World:
    """The oldest requests of the outbox are on the topic."""
    sent, rest = world.db.outbox[:count], world.db.outbox[count:]
    return world._replace(db=world.db._replace(outbox=rest), log=world.log + sent)


def assigned(rules: Rules, world: World, index: int) -> World:
    """A partition for a runner, which compares the group's offset with the database's (R39)."""
    world = world._replace(generation=world.generation + 1, owner=index)
    at = "refused" if world.committed > world.db.progress and world.backup and rules.progress_is_compared else "idle"
    runner = Runner(True, world.generation, world.committed, world.committed, at)
    return with_runner(world, index, runner)


def recovered(rules: Rules, world: World) -> World:
    """`intention recover`: another incarnation, offsets rewound, and what a lost database may have done is doubted."""
    db = world.db
    until = len(world.log) if rules.recover_reaches_the_end else world.committed
    head = db.head._replace(token=0, live=False)
    if rules.recover_moves_sequences and world.topic:
        head = head._replace(sequence=max(head.sequence, world.topic[-1] + 1))
    if rules.fences_survive:
        head = head._replace(fence=head.fence + _GAP)
    waiting = {pair[0] for pair in db.blocked} | {aside.turn for aside in db.asides if aside.state != "dropped"}
    receipts = tuple(
        (key, row._replace(version=row.version + _GAP, recovery=db.incarnation + 1) if is_open(row) else row)
        for key, row in db.receipts
    )
    db = db._replace(
        head=head,
        suspect=max(db.suspect, until),
        incarnation=db.incarnation + 1,
        marked=db.marked | waiting if rules.recover_marks_waiting else db.marked,
        receipts=receipts if rules.recover_forgets_looks else db.receipts,
    )
    return world._replace(db=db, committed=min(world.committed, db.progress), generation=world.generation + 1)
