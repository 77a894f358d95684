"""Every FAN-7 plan, one after the other, on servers that run: a runner and an inventory of its own for each."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from intention_kernel.client import Client
from intention_kernel.ids import random_id
from intention_kernel.kafka.topics import create_missing_topics
from intention_kernel.postgres.migrate import migrate
from intention_kernel.servers.addresses import Servers
from intention_kernel.testing.system import Installation, System, open_system

from examples.demo.story import PATIENCE_SECONDS, PLANS, Plan, Say, Story, Told, start_inventory
from examples.demo.summary import Account, account
from examples.fan7.inventory_client import InventoryClient

PARTITIONS = 4


async def tell_fan7(servers: Servers, scratch: Path, say: Say) -> list[Account]:
    """Tell all plans; an account each."""
    async with _installation(servers) as (system, installation):
        return await _tell_all(system, installation, scratch, say)


@asynccontextmanager
async def _installation(servers: Servers) -> AsyncIterator[tuple[System, Installation]]:
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


async def _tell_all(system: System, installation: Installation, scratch: Path, say: Say) -> list[Account]:
    accounts: list[Account] = []
    url = installation.environment["FAN7_INVENTORY_URL"]
    async with (
        Client(installation.kafka_bootstrap_servers, installation.topic_prefix) as client,
        InventoryClient(url) as inventory,
    ):
        relay = await system.start_relay()
        await relay.await_ready(PATIENCE_SECONDS)
        for number, plan in enumerate(PLANS, 1):
            print()
            say(f"FAN-7 {number}", plan.title)
            port = int(url.rpartition(":")[2])
            async with await start_inventory(port, scratch / f"inventory-{number}.db"):
                told = await _tell_one(system, installation, Story(system, client, inventory, say), plan)
                accounts.append(await account(f"FAN-7 {number}", told, system, client, inventory))
    return accounts


async def _tell_one(system: System, installation: Installation, story: Story, plan: Plan) -> Told:
    """Each run has a runner of its own; where our record is to fail, it fails once, after the reply."""
    failpoints = "runner.after_reply=error" if plan.store_fails else ""
    async with await system.start_runner(failpoints) as runner:
        await runner.await_ready(PATIENCE_SECONDS)
        told = await story.tell(plan, installation.variables())
        runner.terminate()
        await runner.await_end()
        return told


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
