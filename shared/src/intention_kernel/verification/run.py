"""One run of `intention verify`: look, refuse or make a scratch place, try everything there, and leave nothing behind."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from intention_kernel.clock import SystemClock
from intention_kernel.contracts.topics import Topics
from intention_kernel.errors import ConfigurationError
from intention_kernel.kafka.topics import create_missing_topics
from intention_kernel.testing.processes import script
from intention_kernel.testing.system import Installation
from intention_kernel.verification.bank.application import APPLICATION
from intention_kernel.verification.broker_checks import broker_checks, judge_broker, read_broker
from intention_kernel.verification.checks import Check, Outcome, Part
from intention_kernel.verification.contracts import contract_checks, run_contracts
from intention_kernel.verification.crashes import Crash, crashes, run_crash
from intention_kernel.verification.database_checks import database_checks, judge_database, read_database
from intention_kernel.verification.judging import judge, require_assertions
from intention_kernel.verification.leftovers import remove_run, topic_prefix_of
from intention_kernel.verification.report import Report
from intention_kernel.verification.scratch import (
    PARTITIONS,
    EmptySchema,
    Scratch,
    ScratchSchemas,
    Survey,
    connected,
    new_run,
    survey,
)
from intention_kernel.verification.scratch_topics import delete_topics

PARTS: tuple[Part, ...] = ("servers", "contract", "crash")
SERVICES = ("turn-runner", "outbox-relay", "receipt-reconciler")

_CRASH_SECONDS = 180.0
_SHOWN_TABLES = 3


@dataclass(frozen=True, slots=True)
class Target:
    """The servers under test, and the prefix that topics and groups must have there."""

    database_url: str
    kafka_bootstrap_servers: str
    topic_prefix: str


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for. `quick`: of the crash suite a few that stand for all; `beside_data`: other tables may be there."""

    parts: tuple[Part, ...] = PARTS
    quick: bool = False
    beside_data: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nothing was tried and nothing changed; why, and what to do."""

    reason: str


class Progress(Protocol):
    """Who is told how it goes."""

    def plan(self, place: str, total: int) -> None:
        """It begins."""
        ...

    def begins(self, check: Check) -> None:
        """A check that takes a while."""
        ...

    def ends(self, outcome: Outcome) -> None:
        """One more is done."""
        ...

    def says(self, text: str) -> None:
        """Something else that people want to know."""
        ...


async def verify(target: Target, wish: Wish, progress: Progress) -> Report | Refusal:
    """Try what was wished for in a scratch place, and remove it, also when this task is cancelled.

    Raises ConfigurationError where something is missing on this machine, InfrastructureError where a server is away.
    """
    require_assertions()
    _require_services(wish)
    found = await survey(target.database_url)
    _tell_leftovers(found, progress)
    refusal = refused(found, wish)
    if refusal is not None:
        return refusal
    run, clock = new_run(), SystemClock()
    scratch = (
        ScratchSchemas(target.database_url, run) if found.can_have_schemas else EmptySchema(target.database_url, run)
    )
    place = _place(found, run)
    began, left, outcomes = clock.monotonic_seconds(), list[str](), list[Outcome]()
    async with connected(target.database_url, run), _removed(target, run, left, progress):
        outcomes = [outcome async for outcome in _Run(target, wish, run, scratch, place, progress).outcomes()]
    return Report(run, place, tuple(outcomes), clock.monotonic_seconds() - began, tuple(left))


def refused(found: Survey, wish: Wish) -> Refusal | None:
    """Why this database is no place for a run; None where it is."""
    if not found.schema:
        return Refusal(f"database {found.database}: the search_path of {found.role} leads to no schema that exists")
    if found.mark:
        return Refusal(
            f"{found.schema} holds what the run {found.mark} left when it was killed: `intention verify --clean`"
        )
    if not found.tables:
        return None
    shown = ", ".join(found.tables[:_SHOWN_TABLES]) + (" …" if len(found.tables) > _SHOWN_TABLES else "")
    held = f"database {found.database} holds {len(found.tables)} tables ({shown}); nothing was read or changed"
    if wish.beside_data and found.can_have_schemas:
        return None
    if wish.beside_data:
        return Refusal(
            f"{held}. Schemas beside them do not work here: {_why_no_schemas(found)}. Name an empty database"
        )
    return Refusal(
        f"{held}. Name an empty database, or say --beside-data: the suites run in schemas of their own beside them"
    )


class _Run:
    """Its checks, one part after the other."""

    def __init__(self, target: Target, wish: Wish, run: str, scratch: Scratch, place: str, progress: Progress) -> None:
        self._target = target
        self._wish = wish
        self._run = run
        self._scratch = scratch
        self._place = place
        self._progress = progress
        self._session_seconds = 0.0

    async def outcomes(self) -> AsyncIterator[Outcome]:
        """Each as it ends."""
        chosen = [crash for crash in crashes() if crash.is_quick or not self._wish.quick]
        counts = {
            "servers": len(database_checks()) + len(broker_checks()),
            "contract": len(contract_checks()),
            "crash": len(chosen),
        }
        self._progress.plan(self._place, sum(counts[part] for part in self._wish.parts))
        steps: dict[Part, Callable[[], AsyncIterator[Outcome]]] = {
            "servers": self._servers,
            "contract": self._contracts,
            "crash": lambda: self._crashes(chosen),
        }
        with _without_logs():
            for part in self._wish.parts:
                async for outcome in steps[part]():
                    self._progress.ends(outcome)
                    yield outcome

    async def _servers(self) -> AsyncIterator[Outcome]:
        """The settings of both servers; topics are made as `migrate` makes them, to be looked at."""
        for outcome in judge_database(await read_database(self._target.database_url)):
            yield outcome
        prefix, theirs = topic_prefix_of(self._run, self._target.topic_prefix), self._target.topic_prefix
        made = f"{prefix}0."
        await create_missing_topics(self._target.kafka_bootstrap_servers, made, PARTITIONS)
        facts = await read_broker(self._target.kafka_bootstrap_servers, (made, theirs))
        for outcome in judge_broker(facts, frozenset({Topics(made).requests, Topics(theirs).requests})):
            yield outcome

    async def _contracts(self) -> AsyncIterator[Outcome]:
        async with self._scratch.place(1) as url:
            async for outcome in run_contracts(contract_checks(), url):
                yield outcome

    async def _crashes(self, chosen: Sequence[Crash]) -> AsyncIterator[Outcome]:
        """As many at once as the place allows, each with a database place and topics of its own."""
        slots = asyncio.Semaphore(self._scratch.at_once)
        facts = await read_broker(self._target.kafka_bootstrap_servers, ())
        self._session_seconds = facts.shortest_session_seconds
        tasks = [asyncio.create_task(self._crash(crash, number, slots)) for number, crash in enumerate(chosen, start=2)]
        try:
            for task in asyncio.as_completed(tasks):
                yield await task
        finally:
            await _ended(tasks)

    async def _crash(self, crash: Crash, number: int, slots: asyncio.Semaphore) -> Outcome:
        async with slots:
            self._progress.begins(crash.check)
            return await judge(crash.check, self._play(crash, number), _CRASH_SECONDS)

    async def _play(self, crash: Crash, number: int) -> None:
        kafka = self._target.kafka_bootstrap_servers
        prefix = f"{topic_prefix_of(self._run, self._target.topic_prefix)}{number}."
        settings = {"INTENTION_SESSION_TIMEOUT_SECONDS": f"{self._session_seconds:g}"}
        async with self._scratch.place(number) as url:
            try:
                await run_crash(crash, Installation(url, kafka, prefix, APPLICATION, settings))
            finally:
                await delete_topics(kafka, prefix)  # brokers count partitions: no more than two scenarios' at once


async def _ended(tasks: Sequence[asyncio.Task[Outcome]]) -> None:
    """Cancelled, and waited for: each removes its own place."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def _removed(target: Target, run: str, left: list[str], progress: Progress) -> AsyncIterator[None]:
    """Whatever becomes of the body, everything of the run is removed; `left` is what could not be."""
    try:
        yield
    finally:
        progress.says("removing what was made")
        left += await remove_run(target.database_url, target.kafka_bootstrap_servers, target.topic_prefix, run)
        for name in left:
            progress.says(f"NOT REMOVED: {name}")


def _place(found: Survey, run: str) -> str:
    if found.can_have_schemas:
        return f"schemas {run}_* of database {found.database}, topics of the same name"
    return f"the empty schema {found.schema} of database {found.database} ({_why_no_schemas(found)})"


def _why_no_schemas(found: Survey) -> str:
    if not found.may_create_schemas:
        return f"{found.role} may not create schemas there"
    return "a pooler does not keep the search_path of a connection"


def _tell_leftovers(found: Survey, progress: Progress) -> None:
    if found.leftovers:
        progress.says(
            f"left by runs that were killed: {', '.join(found.leftovers)}; remove them: intention verify --clean"
        )


def _require_services(wish: Wish) -> None:
    missing = [name for name in SERVICES if "crash" in wish.parts and not script(name).exists()]
    if missing:
        raise ConfigurationError(
            f"{', '.join(missing)}: not installed beside {sys.executable}, and the crash suite kills them; install them, or"
            " leave it out: --only contract"
        )


@contextmanager
def _without_logs() -> Iterator[None]:
    """The suites provoke every warning that there is; a failure is told by its check."""
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
