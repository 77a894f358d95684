"""A running installation for a test or a demo: the three processes as their console scripts, what goes in, what came out.

The servers are somebody else's; the database is migrated and the topic prefix is this installation's alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from intention_kernel.contracts.topics import Topics
from intention_kernel.contracts.turn_request import TurnRequest, encode_turn_request
from intention_kernel.errors import InfrastructureError
from intention_kernel.kafka.topics import create_missing_topics
from intention_kernel.testing.broker import Broker, Place, open_broker
from intention_kernel.testing.processes import PATIENCE_SECONDS, Process, script

_LOOK_AGAIN_SECONDS = 0.05
_OPEN_WORK = (Path(__file__).parent / "sql" / "open_work.sql").read_text("utf-8")

QUICK_SETTINGS: Mapping[str, str] = {
    "INTENTION_LEASE_SECONDS": "2",
    "INTENTION_SESSION_TIMEOUT_SECONDS": "2",
    "INTENTION_GRACE_SECONDS": "5",
    "INTENTION_RECONCILE_SECONDS": "0.2",
    "INTENTION_RECONCILE_BACKOFF_SECONDS": "0.2",
}
"""Settings under which a dead process is replaced within seconds."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Where a system lives and what it runs. `environment` goes to every process, over QUICK_SETTINGS."""

    database_url: str
    kafka_bootstrap_servers: str
    topic_prefix: str
    application: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def variables(self) -> dict[str, str]:
        """The settings of its processes."""
        return {
            **QUICK_SETTINGS,
            "INTENTION_DATABASE_URL": self.database_url,
            "INTENTION_KAFKA_BOOTSTRAP_SERVERS": self.kafka_bootstrap_servers,
            "INTENTION_TOPIC_PREFIX": self.topic_prefix,
            "INTENTION_APPLICATION": self.application,
            **self.environment,
        }


@dataclass(frozen=True, slots=True)
class Work:
    """A kind of work that is left; `count` is never 0."""

    what: str
    count: int
    example: str

    def __str__(self) -> str:
        return f"{self.count} {self.what} ({self.example})"


class System:
    """Made by `open_system`. Processes are started without waiting for them: start several, then await what is needed."""

    def __init__(
        self, installation: Installation, broker: Broker, database: asyncpg.Connection, processes: AsyncExitStack
    ) -> None:
        self.topics = Topics(installation.topic_prefix)
        self.broker = broker
        self._installation = installation
        self._database = database
        self._processes = processes
        self._started: list[Process] = []

    @asynccontextmanager
    async def telling(self) -> AsyncIterator[None]:
        """An error that leaves the body is told together with what the processes printed."""
        try:
            yield
        except Exception as error:
            for process in self._started:
                error.add_note(f"--- {process.name}, pid {process.pid}:\n{process.output()}")
            raise

    async def start_runner(self, failpoints: str = "", *, instance: str = "runner-1") -> Process:
        """A turn-runner. Two that may live at once need two instances."""
        return await self._start("turn-runner", {"INTENTION_FAILPOINTS": failpoints, "INTENTION_INSTANCE": instance})

    async def start_relay(self, failpoints: str = "") -> Process:
        """An outbox-relay."""
        return await self._start("outbox-relay", {"INTENTION_FAILPOINTS": failpoints})

    async def start_reconciler(self, failpoints: str = "", *, console_port: int | None = None) -> Process:
        """A receipt-reconciler; with a port it serves the console there, 0 takes a free one, which its line names."""
        serving = {} if console_port is None else {"INTENTION_CONSOLE_PORT": str(console_port)}
        return await self._start("receipt-reconciler", {"INTENTION_FAILPOINTS": failpoints, **serving})

    async def send(self, request: TurnRequest) -> Place:
        """Put a request on its topic."""
        return await self.broker.send(self.topics.requests, request.thread_id.encode(), encode_turn_request(request))

    async def fetch(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        """Rows of this installation's database."""
        return await self._database.fetch(query, *arguments)

    async def open_work(self, requests: Iterable[TurnRequest]) -> list[Work]:
        """What is left to do until all of `requests` have their outcome and nothing waits; empty when it is quiet.

        Offsets, which are dear to ask for, are looked at when all else is done.
        """
        wanted = list(requests)
        rows = await self.fetch(
            _OPEN_WORK, [request.thread_id for request in wanted], [request.turn_id for request in wanted]
        )
        left = [Work(row["what"], row["count"], row["example"]) for row in rows if row["count"]]
        behind = {} if left else await self.uncommitted_offsets()
        if behind:
            left.append(Work("partitions with records before the group's offset", len(behind), str(behind)))
        return left

    async def offsets(self) -> dict[int, tuple[int, int]]:
        """Partition of the request topic → what the runners' group has committed, and the end."""
        topics, group = self.topics, self.topics.consumer_group()
        ends = await self.broker.ends(topics.requests)
        done = await self.broker.committed(group, topics.requests)
        return {one: (done.get(one, 0), end) for one, end in ends.items()}

    async def uncommitted_offsets(self) -> dict[int, tuple[int, int]]:
        """Partition → committed offset and end, where the runners' group has not committed the end."""
        return {one: (done, end) for one, (done, end) in (await self.offsets()).items() if done != end}

    async def await_quiet(
        self, requests: Sequence[TurnRequest], *, but: frozenset[str] = frozenset(), seconds: float = PATIENCE_SECONDS
    ) -> None:
        """Returns once no work is left but of the kinds in `but`. Raises InfrastructureError with what is left."""
        deadline = asyncio.get_running_loop().time() + seconds
        while left := [work for work in await self.open_work(requests) if work.what not in but]:
            if asyncio.get_running_loop().time() > deadline:
                raise InfrastructureError(f"left after {seconds:g} s: " + "; ".join(map(str, left)))
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def await_rows(
        self, query: str, *arguments: object, seconds: float = PATIENCE_SECONDS
    ) -> list[asyncpg.Record]:
        """The rows of `query` once there are some."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not (rows := await self.fetch(query, *arguments)):
            if asyncio.get_running_loop().time() > deadline:
                raise InfrastructureError(f"no rows after {seconds:g} s: {query} {arguments}")
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        return rows

    async def _start(self, name: str, variables: dict[str, str]) -> Process:
        process = await Process.start(name, [script(name), "run"], self._installation.variables() | variables)
        self._started.append(process)
        return await self._processes.enter_async_context(process)


@asynccontextmanager
async def open_system(installation: Installation) -> AsyncIterator[System]:
    """A system without processes yet, its topics made; those that run at the end are killed.

    An error that leaves the body carries what the processes printed.
    """
    async with AsyncExitStack() as stack:
        database = await asyncpg.connect(installation.database_url)
        stack.push_async_callback(database.close)
        partitions = await database.fetchval("select partition_count from installation")
        await create_missing_topics(installation.kafka_bootstrap_servers, installation.topic_prefix, partitions)
        broker = await stack.enter_async_context(open_broker(installation.kafka_bootstrap_servers))
        processes = await stack.enter_async_context(AsyncExitStack())
        system = System(installation, broker, database, processes)
        async with system.telling():
            yield system
