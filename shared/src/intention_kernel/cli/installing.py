"""Bring an installation up to date: missing topics first, then the tables, which remember the partition count."""

from __future__ import annotations

from collections.abc import Callable

from intention_kernel.contracts.topics import Topics
from intention_kernel.errors import ConfigurationError
from intention_kernel.kafka.topics import create_missing_topics, partition_counts
from intention_kernel.postgres.migrate import migrate
from intention_kernel.postgres.reading import database_errors, stored_partition_count
from intention_kernel.postgres.schema import HEAD_REVISION


async def install(database_url: str, bootstrap: str, prefix: str, partitions: int, say: Callable[[str], None]) -> None:
    """Create what is missing; safe to repeat, and never alters a topic. `say` is told what was done.

    `partitions` counts for topics that are created; the request topic's actual count is what the database stores.
    Raises ConfigurationError, before anything is made, where a database was migrated for another count.
    """
    requests = Topics(prefix).requests
    existing = (await partition_counts(bootstrap, [requests])).get(requests)
    stored = await stored_partition_count(database_url)
    _refuse_another_count(requests, existing, stored, partitions)
    topics = await create_missing_topics(bootstrap, prefix, partitions)
    for name, count in topics.partitions.items():
        made = "created" if name in topics.created else "there already"
        say(f"topic {name}: {made}, {count} partitions")
    with database_errors(database_url):
        await migrate(database_url, partitions=topics.partitions[requests])
    said = "tables created" if stored is None else "tables up to date"
    say(f"{said}: schema {HEAD_REVISION}, {topics.partitions[requests]} partitions of {requests} stored")


def _refuse_another_count(requests: str, existing: int | None, stored: int | None, partitions: int) -> None:
    if stored is None or stored == (existing or partitions):
        return
    why = (
        f"the database was migrated for {stored} partitions of {requests}, and threads keep their partition for ever; "
    )
    if existing is None:
        raise ConfigurationError(f"{why}run `intention migrate --partitions {stored}` to create that topic again")
    raise ConfigurationError(
        f"{why}the topic has {existing}: use the Kafka and INTENTION_TOPIC_PREFIX that this database belongs to, "
        "or a database of its own for these topics"
    )
