"""A consumer group's offsets from outside: who is in it, what it has committed, and putting it somewhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import for_code

from intention_kernel.errors import InfrastructureError
from intention_kernel.kafka.connection import broker_errors, parse_bootstrap_servers
from intention_kernel.kafka.topics import admin_client

_NO_SUCH_GROUP = 69


async def group_members(bootstrap: str, group: str) -> int:
    """How many members the group has, those that rejoin included; 0 for one that does not exist."""
    async with admin_client(bootstrap) as admin:
        response: Any = (await admin.describe_consumer_groups([group]))[0]
        ((code, _, _, _, _, members, *_),) = response.groups
    if code not in (0, _NO_SUCH_GROUP):
        raise InfrastructureError(f"Kafka does not describe group {group}: {for_code(code).__name__}")
    return len(members)


async def group_offsets(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """Partition → offset that the group has committed; those that it never committed are left out."""
    async with admin_client(bootstrap) as admin:
        found = await admin.list_consumer_group_offsets(group)
    return {one.partition: stored.offset for one, stored in found.items() if one.topic == topic and stored.offset >= 0}


async def put_group(bootstrap: str, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """Commit these offsets for a group without members; Kafka refuses it while there is one.

    Raises InfrastructureError, also for the refusal.
    """
    driver: Any = AIOKafkaConsumer(  # type: ignore[no-untyped-call]  # the driver is half typed
        bootstrap_servers=list(parse_bootstrap_servers(bootstrap)), group_id=group, enable_auto_commit=False
    )
    named = {TopicPartition(topic, partition): offset for partition, offset in offsets.items()}
    with broker_errors(f"putting group {group} of {topic}"):
        try:
            await driver.start()
            driver.assign(list(named))
            await driver.commit(named)
        finally:
            await driver.stop()
