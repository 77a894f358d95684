"""Run every FAN-7 plan on embedded servers, in a scratch directory, with new ids; exit 1 where anything disagrees."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from intention_kernel.client import Client
from intention_kernel.clock import SystemClock
from intention_kernel.errors import IntentionKernelError
from intention_kernel.ids import random_id
from intention_kernel.kafka.topics import create_missing_topics
from intention_kernel.postgres.migrate import migrate
from intention_kernel.servers.select import selected_servers
from intention_kernel.testing.system import Installation, System, open_system

from examples.demo.story import PLANS, Plan, Story, Told, start_inventory
from examples.demo.summary import Account, account, closing_lines
from examples.fan7.inventory_client import InventoryClient

PARTITIONS = 4
INTRODUCTION = (
    "FAN-7 is a job: its agent reserves 2 parts in an inventory, an outside service with its own database, and writes a",
    "work order for them. In each run the outcome of the reservation gets lost; nothing may be reserved twice or forgotten.",
)


class Narrator:
    """One line a thing that happens, with the seconds since the start."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._start_seconds = self._clock.monotonic_seconds()

    def __call__(self, who: str, what: str) -> None:
        seconds = self._clock.monotonic_seconds() - self._start_seconds
        print(f"{seconds:6.1f} s  {who:<10}  {what}", flush=True)


def main() -> int:
    """Returns the exit code."""
    root = Path(os.environ.get("TMPDIR") or ".cache/tmp")
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="demo-", dir=root) as scratch:
        accounts = asyncio.run(_demonstrate(Path(scratch).resolve()))
    print()
    print("\n".join(closing_lines(accounts)))
    return 1 if any(one.problems for one in accounts) else 0


async def _demonstrate(scratch: Path) -> list[Account]:
    say = Narrator()
    async with _installation(scratch, say) as (system, installation):
        return await _tell_all(system, installation, scratch, say)


@asynccontextmanager
async def _installation(scratch: Path, say: Narrator) -> AsyncIterator[tuple[System, Installation]]:
    def progress(line: str) -> None:
        say("servers", line)

    async with selected_servers(scratch / "servers", environment=os.environ, say=progress) as servers:
        say("servers", f"Postgres and Apache Kafka answer ({servers.kafka_bootstrap_servers})")
        prefix = f"demo-{random_id().hex[:8]}."
        await create_missing_topics(servers.kafka_bootstrap_servers, prefix, PARTITIONS)
        await migrate(servers.database_url, partitions=PARTITIONS)
        installation = Installation(
            database_url=servers.database_url,
            kafka_bootstrap_servers=servers.kafka_bootstrap_servers,
            topic_prefix=prefix,
            application="examples.fan7:application",
            environment={"FAN7_INVENTORY_URL": f"http://127.0.0.1:{_free_port()}"},
        )
        async with open_system(installation) as system:
            yield system, installation


async def _tell_all(system: System, installation: Installation, scratch: Path, say: Narrator) -> list[Account]:
    accounts: list[Account] = []
    url = installation.environment["FAN7_INVENTORY_URL"]
    async with (
        Client(installation.kafka_bootstrap_servers, installation.topic_prefix) as client,
        InventoryClient(url) as inventory,
    ):
        relay = await system.start_relay()
        await relay.await_ready()
        print("", *INTRODUCTION, sep="\n")
        for number, plan in enumerate(PLANS, 1):
            print()
            say(f"run {number}", plan.title)
            port = int(url.rpartition(":")[2])
            async with await start_inventory(port, scratch / f"inventory-{number}.db"):
                told = await _tell_one(system, installation, Story(system, client, inventory, say), plan)
                accounts.append(await account(told, system, client, inventory))
    return accounts


async def _tell_one(system: System, installation: Installation, story: Story, plan: Plan) -> Told:
    """Each run has a runner of its own; where our record is to fail, it fails once, after the reply."""
    failpoints = "runner.after_reply=error" if plan.store_fails else ""
    async with await system.start_runner(failpoints) as runner:
        await runner.await_ready()
        told = await story.tell(plan, installation.variables())
        runner.terminate()
        await runner.await_end()
        return told


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    try:
        sys.exit(main())
    except IntentionKernelError as error:
        sys.exit(f"the demo stopped: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
