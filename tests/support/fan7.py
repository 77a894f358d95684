"""FAN-7's outside world for tests: a real inventory process with a database of its own, and the requests of the example."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.servers.addresses import Servers
from intention_kernel.testing.crash_points import Conversation
from intention_kernel.testing.processes import Process
from intention_kernel.testing.system import Installation

from examples.fan7.inventory_client import InventoryClient
from examples.fan7.inventory_store import InventoryStore

APPLICATION = "examples.fan7:application"
EFFECT_OF = {"lookup": "inventory.reserve", "retry": "inventory.reserve_again", "operator": "inventory.reserve_manual"}
RESERVATION_KEYS = {settled_by: f"{effect}:FAN-7" for settled_by, effect in EFFECT_OF.items()}
WORK_ORDER_KEY = "inventory.work_order:FAN-7"
_ASKED = "asked to write "


def request(thread_id: str, turn_id: str, text: str, settled_by: str = "lookup") -> TurnRequest:
    """A user's turn of FAN-7."""
    return TurnRequest(
        schema_version=1,
        thread_id=thread_id,
        turn_id=turn_id,
        agent_id="fan7",
        input=TurnInput(text=text),
        host_context={"settledBy": settled_by},
    )


def installation_of(servers: Servers, database_url: str, topic_prefix: str) -> Installation:
    """FAN-7 in a database and under a prefix of its own."""
    return Installation(database_url, servers.kafka_bootstrap_servers, topic_prefix, APPLICATION)


class Inventory:
    """A running inventory; its file is read directly, past the service, for what really happened."""

    def __init__(self, process: Process, database: Path, url: str, client: InventoryClient, settled_by: str) -> None:
        self.client = client
        self.url = url
        self._process = process
        self._database = database
        self._settled_by = settled_by

    @property
    def environment(self) -> Mapping[str, str]:
        """What names it to our processes."""
        return {"FAN7_INVENTORY_URL": self.url}

    def beside(self, place: Installation) -> Installation:
        """The installation whose processes use this inventory."""
        return replace(place, environment=self.environment)

    @property
    def provider(self) -> Process:
        """Its process."""
        return self._process

    @property
    def conversation(self) -> Conversation:
        """The reservation with its work order, a question on the same thread, one on another."""
        return Conversation(
            with_effects=request("job", "reserve", "reserve 2 FILTER-A for FAN-7", self._settled_by),
            after=request("job", "ask", "How many are left?"),
            neighbour=request("neighbour", "ask", "How many are there?"),
            effects=(RESERVATION_KEYS[self._settled_by], WORK_ORDER_KEY),
        )

    async def lose_next_reply(self) -> None:
        """The next write happens and is not answered."""
        await self.client.drop_replies(1)

    async def ledger(self) -> list[str]:
        """The keys of the effects in its database, one an effect."""
        with InventoryStore(self._database) as store:
            return [entry.key for entry in store.ledger()]

    def calls(self) -> list[str]:
        """The keys of the writes that it was asked for, in order, repeats included."""
        lines = self._process.output().splitlines()
        return [line.removeprefix(_ASKED) for line in lines if line.startswith(_ASKED)]

    def stock(self) -> int | None:
        """FILTER-A that nobody reserved, by its database."""
        with InventoryStore(self._database) as store:
            return store.available("FILTER-A")


@asynccontextmanager
async def running_inventory(
    directory: Path, *, failpoints: str = "", settled_by: str = "lookup"
) -> AsyncIterator[Inventory]:
    """Four FILTER-A, nothing else."""
    database = directory / "inventory.sqlite"
    process = await Process.start(
        "inventory",
        [sys.executable, "-m", "examples.fan7.inventory", "--port", "0", "--log-writes", "--database", database],
        {"INTENTION_FAILPOINTS": failpoints},
        ready="listening on ",
    )
    async with process:
        url = (await process.await_ready()).removeprefix("listening on ").strip()
        async with InventoryClient(url) as client:
            yield Inventory(process, database, url, client, settled_by)
