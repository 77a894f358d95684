"""Two groups of runners, each of which owns every partition, over the same database and topics for the whole run.

Fault: every record is delivered to both owners, and both begin its turn. Besides, each of them stops several times inside
of a turn, at points that it is armed with, for longer than its lease: the other takes that turn, and the first goes on in it.

What must hold: everything that a history promises. Kafka's word on who owns a partition decides nothing; whoever has the
thread in the database does (protocol R4: with the fence no partition epoch is needed). Offsets are each group's own. How far
a partition is done is one row for both, which never goes back: an owner that is behind repeats what is done, and its own
offset is never beyond the row, so that no partition is refused (R39).

That it struck: both owners have polled every record, so that their deliveries together are twice the records; each of them
committed turns; each met turns that the other had (`busy`, `contended`) or had done (`replayed`); and attempts that went on
after their stop were fenced.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from intention_kernel.testing.fleet import Kind, Member

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.metrics import counted
from tests.campaigns.pausing import resume_each_stop
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.traffic import Shape

_GROUPS = ("turn-runner", "other-runner")
_STOPS = ("runner.after_begin", "runner.after_completed", "runner.before_commit")
_LATEST_STOP = 10
"""The stop comes at one of a point's first passes."""

_PATIENCE_SECONDS = 120.0
_LOOK_AGAIN_SECONDS = 0.2
_BESIDE: dict[Kind, int] = {"outbox-relay": 1, "receipt-reconciler": 1}
_SETUP = Setup(shape=Shape(per_second=40.0, pause_seconds=0.3), processes=_BESIDE, steady=False)


async def run(plan: Plan) -> Result:
    """At least `count` records to two owners."""
    return await play(plan, _own_twice, _SETUP)


async def _own_twice(arena: Arena) -> Counts:
    owners = [await arena.fleet.add("turn-runner", _environment(arena, group)) for group in _GROUPS]
    stopping = asyncio.gather(*(resume_each_stop(one, len(_STOPS), _PATIENCE_SECONDS) for one in owners))
    await asyncio.gather(*(one.process.await_ready(_PATIENCE_SECONDS) for one in owners))
    await _send(arena, stopping)
    stopped = await stopping
    await _await_ends(arena)
    polled = [(await counted(one, "turn_runner_records"))[""] for one in owners]
    outcomes = [await counted(one, "turn_runner_outcomes") for one in owners]
    _judge(arena, owners, polled, outcomes, sum(stopped))
    met: Counter[str] = sum(outcomes, Counter())
    return {
        "deliveries": sum(polled),
        "stops": sum(stopped),
        **{f"met_{name}": count for name, count in sorted(met.items())},
    }


async def _send(arena: Arena, stopping: asyncio.Future[list[int]]) -> None:
    """As many as asked, and on until both have stopped everywhere: who is stopped passes its next point later."""
    while len(arena.traffic.sent) < arena.plan.count or not stopping.done():
        await arena.traffic.send_next()
        await asyncio.sleep(1.0 / _SETUP.shape.per_second)


def _environment(arena: Arena, group: str) -> dict[str, str]:
    draws = arena.plan.draws
    armed = [f"{point}=stop@{1 + draws.number(_LATEST_STOP, 'stop', group, point)}" for point in _STOPS]
    return {"INTENTION_CONSUMER_GROUP": group, "INTENTION_FAILPOINTS": ",".join(armed)}


async def _await_ends(arena: Arena) -> None:
    """Returns when both groups have committed the end of every partition."""
    broker, topics = arena.traffic.broker, arena.traffic.topics
    deadline = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    for group in _GROUPS:
        while (done := await broker.committed(topics.consumer_group(group), topics.requests)) != (
            ends := {one: end for one, end in (await broker.ends(topics.requests)).items() if end}
        ):
            if asyncio.get_running_loop().time() > deadline:
                arena.problems.append(f"group {group} has committed {done}, the partitions end at {ends}")
                return
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)


def _judge(arena: Arena, owners: list[Member], polled: list[int], outcomes: list[Counter[str]], stopped: int) -> None:
    problems, sent = arena.problems, len(arena.traffic.sent)
    for owner, records, found in zip(owners, polled, outcomes, strict=True):
        if records < sent:
            problems.append(f"{owner.name} polled {records} of {sent} records: it did not own every partition")
        if not found["committed"]:
            problems.append(f"{owner.name} committed nothing: {dict(found)}")
        if not found["replayed"] or not found["busy"] + found["contended"]:
            problems.append(f"{owner.name} never met the other: {dict(found)}")
    if stopped < len(owners) * len(_STOPS):
        problems.append(f"the owners stopped {stopped} times, not {len(owners) * len(_STOPS)}")
    if not sum(found["fenced"] for found in outcomes):
        problems.append(f"nobody was fenced: {[dict(found) for found in outcomes]}")


CAMPAIGN = Campaign(
    name="owners",
    title="two groups of runners both own every partition",
    unit="records",
    count=600,
    short=120,
    run=run,
)
