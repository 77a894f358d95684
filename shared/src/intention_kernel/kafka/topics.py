"""Topics are made by `migrate` alone; processes only read how many partitions they have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from intention_kernel.contracts.topics import Topics
from intention_kernel.errors import InfrastructureError
from intention_kernel.kafka.connection import broker_errors, parse_bootstrap_servers

_REQUEST_TIMEOUT_SECONDS = 15.0
_VISIBLE_SECONDS = 15.0
_LOOK_AGAIN_SECONDS = 0.05
_TOPIC_ALREADY_EXISTS = 36
_REPLICAS = 3


@dataclass(frozen=True, slots=True)
class CreatedTopics:
    """What `create_missing_topics` found and did; `partitions` counts the partitions of all six topics by name."""

    created: tuple[str, ...]
    partitions: dict[str, int]


async def create_missing_topics(bootstrap: str, prefix: str, partitions: int) -> CreatedTopics:
    """Creates those of the six topics that do not exist, and never alters one that does.

    New ones have `partitions` partitions and three replicas (as many as there are brokers, if fewer), two of them in
    sync for an acknowledgement. Returns when all six are visible. Several may run at once. Raises InfrastructureError.
    """
    names = Topics(prefix).all
    async with admin_client(bootstrap) as admin:
        present = await _partition_counts(admin, names)
        missing = [name for name in names if name not in present]
        created = await _create(admin, missing, partitions) if missing else ()
        return CreatedTopics(created, await _await_visible(admin, names))


async def partition_counts(bootstrap: str, names: Iterable[str]) -> dict[str, int]:
    """The partition count of each of these topics that exists; creates none. Raises InfrastructureError."""
    async with admin_client(bootstrap) as admin:
        return await _partition_counts(admin, tuple(names))


async def missing_topics(bootstrap: str, prefix: str) -> tuple[str, ...]:
    """Those of the six topics that do not exist. Raises InfrastructureError."""
    names = Topics(prefix).all
    present = await partition_counts(bootstrap, names)
    return tuple(name for name in names if name not in present)


@asynccontextmanager
async def admin_client(bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    """The driver's admin client, started; closed at the end. What it raises becomes InfrastructureError."""
    servers = list(parse_bootstrap_servers(bootstrap))
    admin = AIOKafkaAdminClient(bootstrap_servers=servers, request_timeout_ms=int(_REQUEST_TIMEOUT_SECONDS * 1000))
    with broker_errors(f"asking Kafka at {bootstrap}"):
        try:
            await admin.start()  # type: ignore[no-untyped-call]  # the driver is half typed
            yield admin
        finally:
            await admin.close()  # type: ignore[no-untyped-call]


async def _partition_counts(admin: AIOKafkaAdminClient, names: tuple[str, ...]) -> dict[str, int]:
    # Listing all and filtering: asking for a missing topic by name would create it where brokers auto-create.
    described: list[dict[str, Any]] = await admin.describe_topics()
    return {
        topic["topic"]: len(topic["partitions"])
        for topic in described
        if topic["topic"] in names and topic["partitions"]
    }


async def _create(admin: AIOKafkaAdminClient, names: list[str], partitions: int) -> tuple[str, ...]:
    cluster = await admin.describe_cluster()
    replicas = min(_REPLICAS, len(cluster["brokers"]))
    settings = {"min.insync.replicas": "2"} if replicas >= _REPLICAS else {}
    topics = [NewTopic(name, partitions, replicas, topic_configs=settings) for name in names]  # type: ignore[no-untyped-call]
    response: Any = await admin.create_topics(topics)
    answers = [(name, code, detail) for name, code, *detail in response.topic_errors]
    refused = [f"{name}: {detail or code}" for name, code, detail in answers if code not in (0, _TOPIC_ALREADY_EXISTS)]
    if refused:
        raise InfrastructureError("Kafka refused to create topics: " + "; ".join(refused))
    return tuple(name for name, code, _ in answers if code == 0)


async def _await_visible(admin: AIOKafkaAdminClient, names: tuple[str, ...]) -> dict[str, int]:
    async with asyncio.timeout(_VISIBLE_SECONDS):
        while True:
            present = await _partition_counts(admin, names)
            if len(present) == len(names):
                return {name: present[name] for name in names}
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
