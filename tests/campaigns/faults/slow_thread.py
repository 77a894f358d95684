"""One slow thread among many: its turns take seconds each, those of the others next to nothing.

Fault: the turns of one thread take 5 to 8 s, one after the other, while every other thread sends its turn, a share of them
through the same partition and so behind a slow turn's record.

What must hold: nobody waits for the slow thread. Every other turn is committed while it still works; and each turn of its
partition that was sent while a slow one ran, and long enough before its end, is committed before it. Order holds, as the
history shows.

That it struck: the slow turns take what they should, and others went by each of them; both are counted from the database's
own times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from intention_kernel.kafka.partitioner import partition_for
from intention_kernel.verification.bank.faults import Faults
from intention_kernel.verification.bank.steps import Ask, Emit, Notify, Pause

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.going_on import looking_at
from tests.campaigns.place import PARTITIONS
from tests.campaigns.play import Arena, Counts, Setup, play

_SETUP = Setup(bank_faults=Faults(), steady=False)
_SLOW = "slow"
_FASTEST_SECONDS, _SLOWEST_SECONDS = 5.0, 8.0
_PER_SECOND = 60.0
_LONGEST_SHORT_SECONDS = 4.0
"""What a short turn may take from its record to its commit, with all that a busy machine adds: less than any slow turn."""

_PATIENCE_SECONDS = 90.0
_LOOK_AGAIN_SECONDS = 0.2
_TURNS = """
select thread_id, requested_at_ms / 1000.0::float8 as asked, extract(epoch from committed_at)::float8 as committed
from turns order by committed_at
"""


@dataclass(frozen=True, slots=True)
class _Turn:
    """Times are seconds of the same machine's clock."""

    thread_id: str
    asked: float
    committed: float


async def run(plan: Plan) -> Result:
    """`count` threads, the slow one among them."""
    return await play(plan, _mix, _SETUP)


async def _mix(arena: Arena) -> Counts:
    others = arena.plan.count - 1
    # At least one slow turn runs for longer than all others take to be sent, and one more after that.
    slow = 2 + int(others / _PER_SECOND / _FASTEST_SECONDS)
    for number in range(slow):
        await arena.traffic.say(_SLOW, [Pause(seconds=_slow_seconds(arena, number)), Emit(count=1)], f"slow-{number}")
    for number in range(others):
        steps = [Ask(name="quick")] if number % 2 else [Notify(key=f"quick-{number}")]
        await arena.traffic.say(f"thread-{number}", steps)
        await asyncio.sleep(1.0 / _PER_SECOND)
    turns = await _committed(arena, slow + others)
    arena.problems += _problems(turns, slow)
    neighbours = [turn for turn in turns if _is_neighbour(turn)]
    return {
        "threads": arena.plan.count,
        "slow_turns": slow,
        "neighbours": len(neighbours),
        "overtook": sum(len(_passing(neighbours, span)) for span in _spans(turns)),
        "longest_short_seconds": round(
            max(turn.committed - turn.asked for turn in turns if turn.thread_id != _SLOW), 2
        ),
    }


def _slow_seconds(arena: Arena, number: int) -> float:
    fraction = arena.plan.draws.fraction("slow", str(number))
    return _FASTEST_SECONDS + fraction * (_SLOWEST_SECONDS - _FASTEST_SECONDS)


async def _committed(arena: Arena, wanted: int) -> list[_Turn]:
    """All turns, once they are there; those that are there when patience is over."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + _PATIENCE_SECONDS
    async with looking_at(arena.place.installation.database_url) as database:
        while True:
            turns = [_Turn(**row) for row in await database.fetch(_TURNS)]
            if len(turns) >= wanted or clock() > deadline:
                return turns
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)


def _problems(turns: Sequence[_Turn], slow: int) -> Iterable[str]:
    spans = _spans(turns)
    if len(spans) < slow:
        yield f"{len(spans)} of {slow} slow turns were committed"
        return
    late = [turn.thread_id for turn in turns if turn.committed > spans[-1].committed]
    if late:
        yield f"{len(late)} turns were committed after the slow thread had ended, {late[0]} among them"
    neighbours = [turn for turn in turns if _is_neighbour(turn)]
    for number, span in enumerate(spans):
        if span.committed - span.asked < _FASTEST_SECONDS:
            yield f"slow turn {number} took {span.committed - span.asked:.2f} s"
        waited = [turn for turn in _passing(neighbours, span) if turn.committed > span.committed]
        if waited:
            yield f"{len(waited)} turns waited for slow turn {number}, {waited[0].thread_id} among them"
    if not _passing(neighbours, spans[0]):
        yield "no turn was sent to the slow thread's partition while its first turn ran"


def _spans(turns: Sequence[_Turn]) -> list[_Turn]:
    """The slow turns, from when each could run: when the one before was committed."""
    own = [turn for turn in turns if turn.thread_id == _SLOW]
    return own[:1] + [_Turn(_SLOW, max(turn.asked, before.committed), turn.committed) for before, turn in pairwise(own)]


def _is_neighbour(turn: _Turn) -> bool:
    return turn.thread_id != _SLOW and _partition(turn.thread_id) == _partition(_SLOW)


def _partition(thread_id: str) -> int:
    return partition_for(thread_id.encode(), PARTITIONS)


def _passing(neighbours: Iterable[_Turn], span: _Turn) -> list[_Turn]:
    """Those that were asked for while it ran, and long enough before its end."""
    return [turn for turn in neighbours if span.asked <= turn.asked <= span.committed - _LONGEST_SHORT_SECONDS]


CAMPAIGN = Campaign(
    name="slow-thread",
    title="one slow thread among many",
    unit="threads",
    count=1000,
    short=120,
    run=run,
)
