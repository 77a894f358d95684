"""`intention migrate`."""

from __future__ import annotations

import asyncio

import click

from intention_kernel.cli.installing import install
from intention_kernel.cli.settings import addresses


@click.command()
@click.option(
    "--partitions",
    type=click.IntRange(1, 10_000),
    default=12,
    show_default=True,
    help="Partitions of topics that are created; fixed for ever by the first migration.",
)
def migrate(partitions: int) -> None:
    """Create missing topics and bring the tables up to date; safe to repeat.

    A topic that exists is never altered.

    Example: intention migrate --partitions 24
    """
    where = addresses(database=True, kafka=True)
    asyncio.run(install(where.database_url, where.kafka_bootstrap_servers, where.topic_prefix, partitions, click.echo))
