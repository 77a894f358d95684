"""A full disk under Postgres, and a database that became read-only.

Fault, in turns: the server's processes get a limit on the size of their files that is the size of the table of turns, so that
it cannot grow ("could not extend file"); and default_transaction_read_only is set for all sessions, those that are there among them (25006).

What must hold: both are infrastructure's errors. No attempt is used up by them, though each turn has one only, and nothing is
set aside; no process ends or says in `/livez` that it is stuck; runners, and where nothing can be written the others, too,
say in `/readyz` that they are not ready; turns are committed again when it is over.

That it struck: the server's log names the error after the fault began, and each process that has to say so was heard.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg
import psutil
from intention_kernel.testing.fleet import Member

from tests.campaigns.campaign import Campaign, Plan, Result
from tests.campaigns.going_on import ONE_ATTEMPT, seconds_until_a_commit
from tests.campaigns.ground import OwnServers
from tests.campaigns.looking import looking_at
from tests.campaigns.play import Arena, Counts, Setup, play
from tests.campaigns.readiness import await_unready, is_alive
from tests.campaigns.traffic import Shape

_SETUP = Setup(shape=Shape(per_second=20.0, no_effect=0.2), environment=ONE_ATTEMPT)
_FULL_SAYS, _READ_ONLY_SAYS = b"could not extend file", b"in a read-only transaction"
_UNREADY_SECONDS = 45.0
"""A runner asks for ten seconds before it calls the database away."""

_PATIENCE_SECONDS = 60.0
_SEGMENT_BYTES = 16 << 20
"""Of the write-ahead log; a limit below it would end the server instead."""

_MORE_BYTES = 1 << 20
_SIZE = "select pg_relation_size('turns'::regclass)"
_FILLER = """
insert into turns (thread_id, turn_id, revision, status, digest, request, requested_at_ms, result, first_sequence, event_count,
  events, fence)
select 'filler', number::text, number, 'completed', '', '', 0, decode(repeat('00', 7000), 'hex'), 0, 0, '', 0
from generate_series(1, $1::integer) as number
"""
_ROW_BYTES = 6000
"""What a filler takes at least."""


async def run(plan: Plan) -> Result:
    """`count` times, a full disk and a read-only database in turns; the seed says which is first."""
    return await play(plan, _disturb, _SETUP)


async def _disturb(arena: Arena) -> Counts:
    counts: dict[str, int] = {"full": 0, "read_only": 0, "said_by_server": 0, "unready": 0}
    longest = 0.0
    async with looking_at(arena.place.installation.database_url) as database:
        await database.execute("alter table turns set (autovacuum_enabled = off)")
        for number in range(arena.plan.count):
            if (number + arena.plan.seed) % 2:
                await _fill_up(arena, database, counts)
            else:
                await _forbid_writes(arena, database, counts)
            longest = max(longest, await seconds_until_a_commit(arena, _PATIENCE_SECONDS))
    return {**counts, "longest_recovery_seconds": round(longest, 2)}


async def _fill_up(arena: Arena, database: asyncpg.Connection, counts: dict[str, int]) -> None:
    """The file of turns becomes the largest of all, and no file may become larger."""
    size = await _bloat(database)
    assert size > _SEGMENT_BYTES, f"the table has {size} bytes: such a limit would end the server"
    own = arena.plan.ground.own
    runners = [member for member in arena.fleet.members if member.kind == "turn-runner"]
    async with _heard(arena, _FULL_SAYS, counts):
        _limit_files(own, size)
        try:
            await _endure(arena, runners[:1], counts)
        finally:
            _limit_files(own, psutil.RLIM_INFINITY)
    counts["full"] += 1


async def _forbid_writes(arena: Arena, database: asyncpg.Connection, counts: dict[str, int]) -> None:
    """No session may write."""
    async with _heard(arena, _READ_ONLY_SAYS, counts):
        await database.execute("alter system set default_transaction_read_only = on")
        await database.execute("select pg_reload_conf()")
        try:
            await _endure(arena, arena.fleet.members, counts)
        finally:
            await database.execute("alter system reset default_transaction_read_only")
            await database.execute("select pg_reload_conf()")
    counts["read_only"] += 1


async def _endure(arena: Arena, members: Sequence[Member], counts: dict[str, int]) -> None:
    """Until each of these has said that it is not ready; all processes have to be alive then."""
    quiet = await await_unready(members, _UNREADY_SECONDS)
    counts["unready"] += len(members) - len(quiet)
    arena.problems += [f"{member.name} went on saying that it is ready" for member in quiet]
    arena.problems += [f"{member.name} is stuck" for member in arena.fleet.members if not await is_alive(member)]


@asynccontextmanager
async def _heard(arena: Arena, words: bytes, counts: dict[str, int]) -> AsyncIterator[None]:
    """What is done meanwhile has to make the server say these words."""
    log = arena.plan.ground.own.data / "postgres.log"
    before = _size(log)
    yield
    said = _since(log, before).count(words)
    counts["said_by_server"] += said
    if not said:
        arena.problems.append(f"the server never said {words.decode()!r}: the fault did not strike")


async def _bloat(database: asyncpg.Connection) -> int:
    """Rows that are taken back leave their space in the file, which gets larger than the log's; its size in bytes."""
    missing = _SEGMENT_BYTES + _MORE_BYTES - await database.fetchval(_SIZE)
    if missing > 0:
        transaction = database.transaction()
        await transaction.start()
        await database.execute(_FILLER, missing // _ROW_BYTES, timeout=_PATIENCE_SECONDS)
        await transaction.rollback()
    return int(await database.fetchval(_SIZE))


def _limit_files(own: OwnServers, most_bytes: int) -> None:
    """For the postmaster, its children, and those that it will have."""
    postmaster = psutil.Process(own.postgres_pid())
    for process in (postmaster, *postmaster.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            process.rlimit(psutil.RLIMIT_FSIZE, (most_bytes, psutil.RLIM_INFINITY))


def _size(file: Path) -> int:
    return file.stat().st_size


def _since(file: Path, place: int) -> bytes:
    with file.open("rb") as log:
        log.seek(place)
        return log.read()


CAMPAIGN = Campaign(
    name="disk",
    title="a full disk under Postgres, and a read-only database",
    unit="outages",
    count=6,
    short=1,
    run=run,
    own_servers=True,
)
