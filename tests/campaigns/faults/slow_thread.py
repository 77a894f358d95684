"""One slow thread among many: its turns take seconds each, those of the others next to nothing.

Fault: the turns of one thread take 5 to 8 s, one after the other until all others are done, while every other thread sends its turn, a share of them
through the same partition and so behind a slow turn's record.

What must hold: nobody waits for the slow thread. What a turn takes on this machine now is what the slowest one on another
partition took, and a moment more. Every turn of the slow thread's partition that was sent that long before the end of a slow
turn, while it ran, is committed before it; and all others are done while the slow thread still works. Order holds, as the
history shows.

That it struck: the slow turns take what they should, and others went by the first of them; both are counted from the
database's own times. On a machine on which short turns take as long as slow ones nothing is shown, and the campaign fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from intention_kernel.kafka.partitioner import partition_for
from intention_kernel.verification.bank.faults import Faults
from intention_kernel.verification.bank.steps import Ask, Emit, Notify, Pause

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.looking import looking_at
from tests.campaigns.place import PARTITIONS
from tests.campaigns.play import Arena, Counts, Setup, play

_SETUP = Setup(bank_faults=Faults(), steady=False)
_SLOW = "slow"
_FASTEST_SECONDS, _SLOWEST_SECONDS = 5.0, 8.0
_PER_SECOND = 60.0
_MOMENT_SECONDS = 1.0
_PATIENCE_SECONDS = 120.0
_LOOK_AGAIN_SECONDS = 0.4
_TURNS = """
select thread_id, requested_at_ms / 1000.0::float8 as asked, extract(epoch from committed_at)::float8 as committed
from turns where turn_id not like 'reconciliation:%' order by committed_at
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
    over = asyncio.Event()
    working = asyncio.create_task(_work_slowly(arena, over))
    try:
        for number in range(others):
            steps = [Ask(name="quick")] if number % 2 else [Notify(key=f"quick-{number}")]
            await arena.traffic.say(f"thread-{number}", steps)
            await asyncio.sleep(1.0 / _PER_SECOND)
        await _committed(arena, lambda turns: sum(turn.thread_id != _SLOW for turn in turns) >= others)
    finally:
        over.set()
        await asyncio.wait([working])
    slow = working.result()
    seen = _Seen(await _committed(arena, lambda turns: len(turns) >= slow + others))
    arena.problems += seen.problems(slow)
    return {
        "threads": arena.plan.count,
        "slow_turns": slow,
        "neighbours": len(seen.neighbours),
        "overtook": sum(len(seen.passing(span)) for span in seen.spans),
        "longest_short_seconds": round(seen.usual_seconds, 2),
    }


async def _work_slowly(arena: Arena, over: asyncio.Event) -> int:
    """Keep the slow thread at work, a turn ahead of the one that runs, until the others are done; how many turns it got."""
    number = 0
    while not over.is_set():
        await arena.traffic.say(_SLOW, [Pause(seconds=_slow_seconds(arena, number)), Emit(count=1)], f"slow-{number}")
        number += 1
        await _committed(arena, partial(_is_ahead, over, number))
    return number


def _is_ahead(over: asyncio.Event, sent: int, turns: Sequence[_Turn]) -> bool:
    return over.is_set() or sum(turn.thread_id == _SLOW for turn in turns) >= sent - 1


def _slow_seconds(arena: Arena, number: int) -> float:
    fraction = arena.plan.draws.fraction("slow", str(number))
    return _FASTEST_SECONDS + fraction * (_SLOWEST_SECONDS - _FASTEST_SECONDS)


async def _committed(arena: Arena, enough: Callable[[Sequence[_Turn]], bool]) -> Sequence[_Turn]:
    """All turns, once there are enough; those that are there when patience is over."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + _PATIENCE_SECONDS
    async with looking_at(arena.place.installation.database_url) as database:
        while True:
            turns = [_Turn(**row) for row in await database.fetch(_TURNS)]
            if enough(turns) or clock() > deadline:
                return turns
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)


class _Seen:
    """All committed turns: those of the slow thread, those of its partition, those of others.

    `spans` are the slow turns from when each could run, which is when the one before was committed.
    """

    def __init__(self, turns: Sequence[_Turn]) -> None:
        slow = [turn for turn in turns if turn.thread_id == _SLOW]
        others = [turn for turn in turns if turn.thread_id != _SLOW]
        self.neighbours = [turn for turn in others if _partition(turn.thread_id) == _partition(_SLOW)]
        self.usual_seconds = max(
            (turn.committed - turn.asked for turn in others if turn not in self.neighbours), default=0.0
        )
        self.spans = slow[:1] + [
            _Turn(_SLOW, max(turn.asked, before.committed), turn.committed) for before, turn in pairwise(slow)
        ]

    def passing(self, span: _Turn) -> list[_Turn]:
        """Those that were asked for while it ran, and long enough before its end."""
        latest = span.committed - self.usual_seconds - _MOMENT_SECONDS
        return [turn for turn in self.neighbours if span.asked <= turn.asked <= latest]

    def problems(self, slow: int) -> Iterator[str]:
        """What is not as it should be where there were so many slow turns."""
        if len(self.spans) < slow:
            yield f"{len(self.spans)} of {slow} slow turns were committed"
            return
        for number, span in enumerate(self.spans):
            if span.committed - span.asked < _FASTEST_SECONDS:
                yield f"slow turn {number} took {span.committed - span.asked:.2f} s"
            waited = [turn for turn in self.passing(span) if turn.committed > span.committed]
            if waited:
                yield f"{len(waited)} turns waited for slow turn {number}, {waited[0].thread_id} among them"
        late = [turn for turn in self.neighbours if turn.committed > self.spans[-1].committed]
        if late:
            yield f"{len(late)} turns were committed after the slow thread's last, {late[0].thread_id} among them"
        if not self.passing(self.spans[0]):
            yield f"no turn went by the slow thread's first turn; short turns took {self.usual_seconds:.2f} s"


def _partition(thread_id: str) -> int:
    return partition_for(thread_id.encode(), PARTITIONS)


CAMPAIGN = Campaign(
    name="slow-thread",
    title="one slow thread among many",
    unit="threads",
    count=1000,
    short=120,
    run=run,
)
