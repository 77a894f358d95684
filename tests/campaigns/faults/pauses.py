"""SIGSTOP at every failpoint of runners, relays and reconcilers for longer than lease and session, then SIGCONT, under load.

Fault: processes are armed with `NAME=stop@N` at several points each; wherever one stops, others take its partitions, turns,
shards and items, and finish them; then it goes on where it stood, into its next point. One process of each kind never stops.

What must hold: everything that a history promises. A zombie's answer after a settlement is where that is hardest. A runner that
stops right before it sends has sent nothing when its receipt is settled, and sends when it goes on (crash_points'
SETTLED_AGAIN_POINTS; protocol R22):

* `charge` is not deduplicated: were it settled as not applied meanwhile, the zombie would charge behind the settlement. Its
  lookup finds nothing and may conclude nothing, for the attempt has not ended and its process is not known dead (R22 c).
* `reserve` is settled as not applied at once, for the look closes the key: the bank refuses the zombie's attempt, which
  agrees with the settlement (R22 b).
* `notify` is settled by the same call made again: the bank repeats that answer to the zombie, which agrees, too (R22 a).
  Only a bank that refuses a repeat and then takes the zombie's call would contradict itself; so refusals are off here.

So nothing may be contradicted, and every receipt must be settled without a person.

A relay that went on after its lease with records under way would send what another has sent meanwhile: it ends itself
(R37), and counts in `relays_ended`; what runs it would start it again, and so does the campaign.

That it struck: every armed stop has to be seen and resumed; a process stops at each of its points once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from intention_kernel.testing.fleet import Kind, Member
from outbox_relay.bootstrap import EXIT_FAIL_STOP

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.faults.failpoints import POINTS, shares
from tests.campaigns.pausing import resume_each_stop
from tests.campaigns.play import BANK_FAULTS, Arena, Counts, Setup, play
from tests.campaigns.traffic import Shape

_REACHED_SECONDS = 120.0
_PROCESSES: dict[Kind, int] = {"turn-runner": 4, "outbox-relay": 2, "receipt-reconciler": 2}
_SETUP = Setup(shape=Shape(per_second=20.0), processes=_PROCESSES, bank_faults=replace(BANK_FAULTS, refuse=0.0))


async def run(plan: Plan) -> Result:
    """A pause at every point, `count` times."""
    return await play(plan, _pause_everywhere, _SETUP)


async def _pause_everywhere(arena: Arena) -> Counts:
    lanes = await asyncio.gather(*(_pause(arena, *share) for share in shares(arena, "stop", spared=1)))
    counts: Counter[str] = sum(lanes, Counter())
    wanted = arena.plan.count * sum(map(len, POINTS.values()))
    if counts["pauses"] < wanted:
        arena.problems.append(f"{counts['pauses']} of {wanted} pauses happened")
    return {
        "pauses": counts["pauses"],
        "relays_ended": counts["relays_ended"],
        "failpoints": wanted // arena.plan.count,
    }


async def _pause(arena: Arena, member: Member, armed: Sequence[str]) -> Counter[str]:
    """Life after life with its points; a life ends in order, its zombie's work with it."""
    counts: Counter[str] = Counter()
    for life in _lives(member.kind, armed):
        await arena.fleet.arm(member, ",".join(life))
        seen = await resume_each_stop(member, len(life), _REACHED_SECONDS)
        if seen < len(life):
            arena.problems.append(f"{member.name} stopped {seen} times, it was armed with {', '.join(life)}")
        counts["pauses"] += seen
        member.process.resume()
        member.process.terminate()
        code = await member.process.await_end()
        if member.kind == "outbox-relay" and code == EXIT_FAIL_STOP:
            counts["relays_ended"] += 1
        elif code:
            arena.problems.append(f"{member.name} ended with {code} after its pauses:\n{member.process.output()}")
    await arena.fleet.replace(member)
    return counts


def _lives(kind: Kind, armed: Sequence[str]) -> list[list[str]]:
    """Which points one process is armed with: one that a relay may not survive, of others any number of different ones."""
    if kind == "outbox-relay":
        return [[failpoint] for failpoint in armed]
    lives: list[dict[str, str]] = [{}]
    for failpoint in armed:
        name = failpoint.partition("=")[0]
        if name in lives[-1]:
            lives.append({})
        lives[-1][name] = failpoint
    return [list(life.values()) for life in lives]


CAMPAIGN = Campaign(
    name="pauses",
    title="SIGSTOP at every failpoint past lease and session, then SIGCONT, under load",
    unit="passes",
    count=2,
    short=0,
    run=run,
)
