"""Topics and consumer groups of a run on an adopter's broker: found by their prefix, deleted, and seen to be gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import for_code
from aiokafka.protocol.admin import DeleteGroupsRequest

from intention_kernel.clock import SystemClock
from intention_kernel.errors import InfrastructureError
from intention_kernel.kafka.topics import admin_client

_PATIENCE_SECONDS = 60.0
"""Longer than a killed member's session."""

_LOOK_AGAIN_SECONDS = 0.2
_UNKNOWN_TOPIC = 3
_NO_SUCH_GROUP = 69
_NOT_EMPTY = (68, 14, 15, 16)
"""The group has members still, or its coordinator is moving."""


async def find_topics(bootstrap: str, prefix: str) -> tuple[str, ...]:
    """The topics whose names begin so. Raises InfrastructureError."""
    async with admin_client(bootstrap) as admin:
        return await _topics(admin, prefix)


async def find_groups(bootstrap: str, prefix: str) -> tuple[str, ...]:
    """The consumer groups whose names begin so. Raises InfrastructureError."""
    async with admin_client(bootstrap) as admin:
        return await _groups(admin, prefix)


async def delete_topics(bootstrap: str, prefix: str) -> None:
    """Delete the topics whose names begin so; returns once none is there. Raises InfrastructureError."""
    async with admin_client(bootstrap) as admin:
        clock, asked = SystemClock(), set[str]()
        give_up_at = clock.monotonic_seconds() + _PATIENCE_SECONDS
        while left := await _topics(admin, prefix):
            if clock.monotonic_seconds() > give_up_at:
                raise InfrastructureError(f"topics that Kafka does not delete: {', '.join(left)}")
            await _delete_topics(admin, [name for name in left if name not in asked])
            asked.update(left)
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)


async def delete_groups(bootstrap: str, prefix: str) -> None:
    """Delete the groups whose names begin so, once the sessions of their dead members are over. Raises InfrastructureError."""
    async with admin_client(bootstrap) as admin:
        clock = SystemClock()
        give_up_at = clock.monotonic_seconds() + _PATIENCE_SECONDS
        while left := await _groups(admin, prefix):
            if clock.monotonic_seconds() > give_up_at:
                raise InfrastructureError(f"consumer groups that Kafka does not delete: {', '.join(left)}")
            for group in left:
                await _delete_group(admin, group)
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)


async def _topics(admin: AIOKafkaAdminClient, prefix: str) -> tuple[str, ...]:
    names: Iterable[str] = await admin.list_topics()
    return tuple(sorted(name for name in names if name.startswith(prefix)))


async def _groups(admin: AIOKafkaAdminClient, prefix: str) -> tuple[str, ...]:
    found: Iterable[tuple[Any, ...]] = await admin.list_consumer_groups()
    return tuple(sorted(str(group[0]) for group in found if str(group[0]).startswith(prefix)))


async def _delete_topics(admin: AIOKafkaAdminClient, names: list[str]) -> None:
    if not names:
        return
    response: Any = await admin.delete_topics(names)
    for name, code in response.topic_error_codes:
        if code not in (0, _UNKNOWN_TOPIC):
            raise InfrastructureError(f"Kafka does not delete topic {name}: {for_code(code).__name__}")


async def _delete_group(admin: AIOKafkaAdminClient, group: str) -> None:
    # The driver has the request and no method for it.
    coordinator = await admin.find_coordinator(group)
    response: Any = await admin._send_request(DeleteGroupsRequest([group]), coordinator)
    for _, code in response.results:
        if code not in (0, _NO_SUCH_GROUP, *_NOT_EMPTY):
            raise InfrastructureError(f"Kafka does not delete group {group}: {for_code(code).__name__}")
