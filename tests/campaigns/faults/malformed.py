"""Records that can never become turns, thousands of generated ones, between good ones.

What must hold: every one is kept byte for byte with its origin and a reason and is told on turns.rejected; the good ones
between them commit in their order, and soon. That it struck: all of them were acknowledged by the broker, and there are as
many rejected rows as records; every kind of `wrong_records` came up.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from intention_kernel.testing.scratch import fetch_value
from intention_kernel.verification.bank.faults import Faults

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.faults.wrong_records import BOUND, CHEAP, KINDS, ODD_HEADERS, Kind, bytes_of
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.traffic import Shape

_SETUP = Setup(
    shape=Shape(malformed=0.0, repeats=0.0, conflicts=0.0, no_effect=0.6), bank_faults=Faults(), steady=False
)
_PER_GOOD = 20
"""So many of them for one good record."""

_FEWEST_GOOD = 300
_AT_ONCE = 25
"""Senders side by side: one alone would wait for the broker more than for us."""

_LARGE = 12
"""As many may be larger than a broker's usual record: each is as dear as a thousand others."""

_AHEAD = 500
"""So many records may be sent and not decided: what a good one waits for is then its neighbours and no backlog."""

_LATE_SECONDS = 30.0
"""The longest that a good record may wait for its commit, on a busy machine: a record that its neighbours had to wait for
would hold them for ever, or for a backoff each."""

_DONE_SECONDS = 120.0
_LOOK_AGAIN_SECONDS = 0.05
_DECIDED = "select (select count(*) from turns) + (select count(*) from rejected_requests)"
_SLOWEST_MS = "select max(extract(epoch from committed_at) * 1000 - requested_at_ms)::bigint from turns"


async def run(plan: Plan) -> Result:
    """`count` records that are wrong; the kinds, their place and their content come from the seed."""
    return await play(plan, _send_all, _SETUP)


async def _send_all(arena: Arena) -> Counts:
    count, traffic = arena.plan.count, arena.traffic
    await traffic.say(BOUND, [], "first")
    pace = min(_PER_GOOD, max(1, count // _FEWEST_GOOD))
    used: Counter[str] = Counter()
    for start in range(0, count, _AT_ONCE):
        numbers = range(start, min(start + _AT_ONCE, count))
        kinds = [_kind(arena, number, used) for number in numbers]
        good = [traffic.send_next() for number in numbers if number % pace == 0]
        await asyncio.gather(*good, *(_send(arena, kind, one) for kind, one in zip(kinds, numbers, strict=True)))
        await _await_decided(arena, len(traffic.sent) - _AHEAD)
    await _await_decided(arena, len(traffic.sent))
    if count >= 10 * len(KINDS) and (missing := KINDS.keys() - used.keys()):
        arena.problems.append(f"no record of these kinds was sent: {sorted(missing)}")
    slowest_seconds = await fetch_value(arena.place.installation.database_url, _SLOWEST_MS) / 1000
    if slowest_seconds > _LATE_SECONDS:
        arena.problems.append(f"a good record waited {slowest_seconds:g} s for its commit")
    counts: Counts = {"malformed": count, "kinds": len(used), "good": len(traffic.requests)}
    return counts | {"slowest_good_seconds": slowest_seconds}


async def _await_decided(arena: Arena, count: int) -> None:
    """Returns once so many records are committed or rejected, or patience is over: what is left then is told at the end."""
    url, clock = arena.place.installation.database_url, asyncio.get_running_loop().time
    deadline = clock() + _DONE_SECONDS
    while count > 0 and clock() < deadline:
        if await fetch_value(url, _DECIDED) >= count:
            return
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)


def _kind(arena: Arena, number: int, used: Counter[str]) -> Kind:
    names = sorted(KINDS)
    name = names[arena.plan.draws.number(len(names), "wrong", str(number))]
    if KINDS[name].is_large and sum(count for one, count in used.items() if KINDS[one].is_large) >= _LARGE:
        name = CHEAP
    used[name] += 1
    return KINDS[name]


async def _send(arena: Arena, kind: Kind, number: int) -> None:
    key, value = bytes_of(kind, arena.plan.draws, number)
    headers = ODD_HEADERS if number % 3 == 0 else ()
    await arena.traffic.send_bytes(key, value, good=False, headers=headers)


CAMPAIGN = Campaign(
    name="malformed",
    title="records of generated kinds that can never become turns, between good ones",
    unit="records",
    count=10_000,
    short=300,
    run=run,
)
