"""Wires what takes decisions from Kafka; the only module of it that names adapters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from intention_kernel.contracts.topics import Topics
from intention_kernel.postgres.operating import open_pool
from intention_kernel.postgres.operator_queue import PostgresQueue
from intention_kernel.postgres.rejections import KeptRecords
from intention_kernel.reconciliation.resolutions import Resolutions
from intention_kernel.reconciliation.workbench import EffectOf

from receipt_reconciler.resolutions import ResolutionConsumer, Subscription
from receipt_reconciler.settings import ReconcilerSettings

GROUP = "receipt-reconciler"
"""Consumer group of all reconcilers that take decisions; the topic prefix goes before it."""

_PATIENCE_SECONDS = 5.0
"""How long one record asks an absent database before that is said, and the record tried again."""


@asynccontextmanager
async def open_resolutions(
    settings: ReconcilerSettings, effect_of: EffectOf, stop: asyncio.Event
) -> AsyncIterator[ResolutionConsumer]:
    """Consumes until `stop` is set; the end sets it, and waits for the record in hand.

    Raises ConfigurationError, SchemaVersionError among them, and InfrastructureError where the database is away.
    """
    topics = Topics(settings.topic_prefix)
    subscription = Subscription(
        bootstrap_servers=settings.kafka_bootstrap_servers,
        topic=topics.resolutions,
        group=topics.consumer_group(GROUP),
        grace_seconds=settings.grace_seconds,
    )
    opened = open_pool(settings.database_url, pool_size=1, patience_seconds=_PATIENCE_SECONDS)
    async with opened as (pool, wake), asyncio.TaskGroup() as group:
        desk = Resolutions(PostgresQueue(pool, wake), KeptRecords(pool, wake), effect_of)
        consumer = ResolutionConsumer(subscription, desk.take, stop)
        group.create_task(consumer.run())
        try:
            yield consumer
        finally:
            stop.set()
