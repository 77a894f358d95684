"""`turn-runner check` before a deploy: what the build would leave behind (design 5, compatibility)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest
from intention_kernel.kafka.topics import create_missing_topics
from intention_kernel.ports.turn_store import Begun
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.testing.boundary_calls import (
    begin_of,
    begun,
    blocked_turn,
    commit_of,
    committed,
    new_thread,
    prepared,
)
from intention_kernel.testing.processes import script

from tests.cli.builds import OTHER_FINGERPRINT
from tests.support.servers import PARTITIONS, SharedServers


@dataclass(frozen=True, slots=True)
class Deploy:
    """A database, and the builds that may be deployed over it."""

    store: PostgresStore
    environment: dict[str, str]

    async def check(self, build: str) -> tuple[int, list[str]]:
        """The exit code and the lines of `turn-runner check`, those of the agents left out."""
        process = await asyncio.create_subprocess_exec(
            script("turn-runner"), "check",
            env=os.environ | self.environment | {"INTENTION_APPLICATION": f"tests.cli.builds:{build}"},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode is not None
        assert not err, err.decode()
        return process.returncode, [line for line in out.decode().splitlines() if not line.startswith("agent ")]

    async def thread_of(self, fingerprint: str, agent_id: str = "agent") -> str:
        """A thread that such a build left."""
        thread = new_thread()
        attempt = await begun(self.store, thread, "t1")
        await committed(
            self.store, replace(commit_of(thread, "t1", attempt), fingerprint=fingerprint, agent_id=agent_id)
        )
        return thread

    async def crashed_turn(self, thread: str, fingerprint: str) -> None:
        """A turn of it that prepared an effect and never came back: a journal and a receipt are left."""
        answer = await self.store.begin(replace(begin_of(thread, "t2"), accepts=(fingerprint,)))
        assert isinstance(answer, Begun)
        await prepared(self.store, thread, "t2", answer.fence)


@pytest.fixture
async def deploy(servers: SharedServers, fresh_database: str, topic_prefix: str) -> AsyncIterator[Deploy]:
    await create_missing_topics(servers.kafka_bootstrap_servers, topic_prefix, PARTITIONS)
    environment = {
        "INTENTION_DATABASE_URL": fresh_database,
        "INTENTION_KAFKA_BOOTSTRAP_SERVERS": servers.kafka_bootstrap_servers,
        "INTENTION_TOPIC_PREFIX": topic_prefix,
    }
    async with PostgresStore.open(fresh_database) as store:
        yield Deploy(store, environment)


async def test_threads_journals_and_receipts_that_a_build_does_not_fit_are_counted_with_what_to_do(
    deploy: Deploy,
) -> None:
    """R8: a build that does not fit holds the turns of its threads, so a deploy has to know before."""
    await deploy.thread_of("build-1")
    await deploy.thread_of(OTHER_FINGERPRINT)
    await deploy.crashed_turn(await deploy.thread_of(OTHER_FINGERPRINT), OTHER_FINGERPRINT)
    await deploy.thread_of("build-1", agent_id="retired")
    await blocked_turn(deploy.store, new_thread(), "t1")

    code, lines = await deploy.check("narrow")
    assert code == 10
    threads, journals, retired, receipts, last = lines
    assert retired.startswith("problem: agent retired: 1 stranded thread of fingerprint build-1 (0 open journals)")
    assert "keep it in the application" in retired
    assert threads.startswith("problem: agent agent: 2 stranded threads of fingerprint build-2 (1 open journal)")
    assert "accepts_fingerprints" in threads
    assert journals.startswith("problem: agent agent: let the build of fingerprint build-2 finish")
    assert receipts.startswith(
        "problem: agent agent: 2 open receipts of effect reserve (1 prepared, 1 uncertain), which this build does not"
    )
    assert not last.startswith("ok")

    code, lines = await deploy.check("wide")
    assert (code, len(lines)) == (10, 2)
    assert lines[0] == retired


async def test_a_build_that_fits_every_thread_is_well(deploy: Deploy) -> None:
    await deploy.crashed_turn(await deploy.thread_of(OTHER_FINGERPRINT), OTHER_FINGERPRINT)
    await blocked_turn(deploy.store, new_thread(), "t1")
    code, lines = await deploy.check("wide")
    assert code == 0
    assert lines == ["ok: settings, application, database, schema and topic fit, and so does every thread"]
