"""A reconciler that takes decisions from Kafka, over receipts in a database of one test; and records as writers make them."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.testing.broker import Place
from intention_kernel.testing.processes import Process
from intention_kernel.testing.system import Installation, System, open_system

from tests.reconciliation.app import VARIABLE
from tests.reconciliation.bench import Ledger, ledger, until
from tests.support.consuming import HeaderName
from tests.support.servers import SharedServers

GROUP = "receipt-reconciler"
BY_HAND = "shop.by_hand"
"""An effect that the application does not declare: nothing but a person settles it."""
VALUE: dict[str, JsonValue] = {"charge": "ch-9"}
_ROOT = Path(__file__).parents[2]


def document(receipt_id: str, **members: Any) -> dict[str, Any]:
    """A decision that is good but for what `members` make of it; a member that is ... is left out."""
    good = {
        "schemaVersion": 1,
        "decisionId": f"decision-{receipt_id[:8]}",
        "receiptId": receipt_id,
        "expectedVersion": 2,
        "resolution": "applied",
        "value": VALUE,
        "reference": "REF-1",
        "reason": "seen in the provider's list",
        "actor": "back-office",
    }
    return {name: member for name, member in (good | members).items() if member is not ...}


def record(receipt_id: str, **members: Any) -> bytes:
    """The value of such a record."""
    return json.dumps(document(receipt_id, **members)).encode()


@dataclass(slots=True)
class Bench:
    """One test's system and the receipts in its database."""

    system: System
    db: Ledger
    prefix: str

    async def uncertain(self, thread_id: str = "t") -> str:
        """A receipt that waits for a person, version 2; its id."""
        return await self.db.uncertain(thread_id, f"{BY_HAND}:1", effect_id=BY_HAND)

    async def send(self, value: bytes | None, key: bytes | None = b"any", **more: Any) -> Place:
        """A record on the topic, all on one partition unless told."""
        return await self.system.broker.send(self.system.topics.resolutions, key, value, **{"partition": 0} | more)

    async def settled(self, receipt_id: str) -> None:
        """Returns once it is."""
        await self.system.await_rows("select from receipts where receipt_id = $1 and settlements > 0", receipt_id)

    async def committed_to(self, end: int, partition: int = 0) -> None:
        """Returns once the group has passed everything before `end`."""

        async def passed() -> bool:
            found = await self.system.broker.committed(f"{self.prefix}{GROUP}", self.system.topics.resolutions)
            return found.get(partition, 0) == end

        await until(passed, 30)

    async def rejected(self) -> list[tuple[str, int]]:
        """Reason and offset of everything that was kept, in the order of the topic."""
        rows = await self.system.fetch("select reason, origin_offset from rejected_requests order by origin_offset")
        return [(row["reason"], row["origin_offset"]) for row in rows]

    async def metric(self, process: Process, outcome: str) -> float:
        """How often it counted that outcome."""
        text = (await http(process, "/metrics"))[1]
        name = f'intention_reconciler_resolutions_total{{outcome="{outcome}"}} '
        return next((float(line.removeprefix(name)) for line in text.splitlines() if line.startswith(name)), 0.0)


async def send_with_a_bad_header_name(bootstrap: str, topic: str, values: Sequence[bytes]) -> None:
    """All in one batch on partition 0; each has a header whose name is not UTF-8."""
    producer: Any = AIOKafkaProducer(bootstrap_servers=bootstrap)  # type: ignore[no-untyped-call]
    async with producer:
        batch = producer.create_batch()
        batch._builder = _DefaultRecordBatchBuilderPy(2, 0, 0, -1, -1, 0, 65_536)
        for value in values:
            batch.append(key=None, value=value, timestamp=None, headers=[(HeaderName("\xffame"), b"\xff")])
        await (await producer.send_batch(batch, topic, partition=0))


@asynccontextmanager
async def bench(
    servers: SharedServers, database_url: str, prefix: str, provider: Path, **environment: str
) -> AsyncIterator[Bench]:
    """Topics and a database; nothing runs yet. Decisions are accepted unless `environment` says otherwise."""
    variables = {
        VARIABLE: str(provider),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")])),
        "INTENTION_ACCEPT_RESOLUTIONS": "true",
    }
    place = Installation(
        database_url,
        servers.kafka_bootstrap_servers,
        prefix,
        "tests.reconciliation.app:application",
        variables | environment,
    )
    async with open_system(place) as system, ledger(database_url) as db:
        yield Bench(system, db, prefix)


async def http(process: Process, path: str) -> tuple[int, str]:
    """Status and body of what the process's own HTTP server answers."""
    port = int((await process.await_ready()).split("http=")[1].split()[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return int(head.split()[1]), body
