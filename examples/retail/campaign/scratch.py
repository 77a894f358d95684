"""A place of a campaign's own on servers of anybody's: a database that is dropped at the end, new topics, a shop."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from intention_kernel.ids import random_id
from intention_kernel.servers.addresses import Servers
from intention_kernel.testing.processes import Process
from intention_kernel.testing.scratch import scratch_database
from intention_kernel.testing.system import Installation, System, open_system

from examples.retail.campaign.plan import Plan
from examples.retail.shop_client import ShopClient

APPLICATION = "examples.retail:application"
PARTITIONS = 6
_ROOT = Path(__file__).parents[3]
_LISTENING = "listening on "
_SHOP_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a campaign happens. No process but the shop's runs yet."""

    installation: Installation
    system: System
    shop: ShopClient


@asynccontextmanager
async def open_place(servers: Servers, scratch: Path, plan: Plan) -> AsyncIterator[Place]:
    """Everything made for this plan, and removed again but for the topics. Raises InfrastructureError."""
    async with (
        scratch_database(servers.database_url, prefix="retail", partitions=PARTITIONS) as database_url,
        _running_shop(scratch / "shop.sqlite", plan.data) as url,
    ):
        installation = Installation(
            database_url=database_url,
            kafka_bootstrap_servers=servers.kafka_bootstrap_servers,
            topic_prefix=f"retail-{random_id().hex[:8]}.",
            application=APPLICATION,
            environment={
                "RETAIL_SHOP_URL": url,
                "RETAIL_SCRIPT": str(plan.file.resolve()),
                "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")])),
            },
        )
        async with (
            ShopClient(url, timeout_seconds=_SHOP_PATIENCE_SECONDS) as shop,
            open_system(installation) as system,
        ):
            yield Place(installation, system, shop)


@asynccontextmanager
async def _running_shop(database: Path, data: Path) -> AsyncIterator[str]:
    """A shop process over fresh worlds of these records; its URL."""
    command: list[str | Path] = [sys.executable, "-m", "examples.retail.shop", "--database", database, "--data", data]
    environment = {"PYTHONPATH": str(_ROOT)}
    async with await Process.start("shop", command, environment, ready=_LISTENING) as process:
        yield (await process.await_ready()).removeprefix(_LISTENING)
