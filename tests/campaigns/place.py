"""Where one campaign happens: a database, topics and a bank of its own, on the ground it was given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from intention_kernel.ids import random_id
from intention_kernel.kafka.topics import create_missing_topics
from intention_kernel.servers.addresses import Servers
from intention_kernel.testing.scratch import scratch_database
from intention_kernel.testing.system import Installation
from intention_kernel.verification.bank.client import BankClient
from intention_kernel.verification.bank.running import RunningBank, running_bank

APPLICATION = "intention_kernel.verification.bank.application:application"
PARTITIONS = 4
ATTEMPTS = 12
"""Kills count as attempts; that many of them may strike one turn before it is given up."""


@dataclass(frozen=True, slots=True)
class Place:
    """No process but the bank's runs yet; `client` speaks to it."""

    installation: Installation
    bank: RunningBank
    client: BankClient


@asynccontextmanager
async def opened_place(
    servers: Servers,
    scratch: Path,
    environment: Mapping[str, str] | None = None,
    through: Callable[[str], str] | None = None,
) -> AsyncIterator[Place]:
    """Everything made, and removed again but for the topics; `environment` goes to every process of ours.

    `through` makes the database's URL that our processes are told of the one that we use.
    """
    async with (
        scratch_database(servers.database_url, prefix="campaign", partitions=PARTITIONS) as database_url,
        running_bank(scratch / f"bank-{random_id().hex[:8]}.sqlite") as bank,
        bank.client() as client,
    ):
        prefix = f"campaign-{random_id().hex[:8]}."
        await create_missing_topics(servers.kafka_bootstrap_servers, prefix, PARTITIONS)
        installation = Installation(
            database_url=database_url,
            kafka_bootstrap_servers=servers.kafka_bootstrap_servers,
            topic_prefix=prefix,
            application=APPLICATION,
            environment={
                **bank.environment,
                "INTENTION_TURN_ATTEMPTS": str(ATTEMPTS),
                **({"INTENTION_DATABASE_URL": through(database_url)} if through else {}),
                **(environment or {}),
            },
        )
        yield Place(installation, bank, client)
