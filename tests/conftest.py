"""Fixtures that every suite may use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from intention_kernel.ids import random_id

from tests.support.servers import (
    SharedServers,
    create_database,
    current_run,
    drop_database,
    shared_servers,
    stop_shared_servers,
)

# The contract suites live in the library; their asserts explain themselves as those of any test do.
pytest.register_assert_rewrite("intention_kernel.testing")


def pytest_configure() -> None:
    """Name the run before workers start, so that all of them share its servers."""
    current_run()


def pytest_unconfigure() -> None:
    """Servers end with the run that started them."""
    run = current_run()
    if run.is_mine:
        stop_shared_servers(run)


@pytest.fixture(scope="session")
def servers() -> SharedServers:
    """One Postgres and one Kafka for all tests of the run; started when the first test asks."""
    return shared_servers(current_run())


@pytest.fixture
async def fresh_database(servers: SharedServers) -> AsyncIterator[str]:
    """The URL of a migrated database that is this test's alone."""
    name = f"test_{random_id().hex[:16]}"
    yield await create_database(servers, name, template=servers.template)
    await drop_database(servers, name)


@pytest.fixture(scope="session")
def shared_database(servers: SharedServers) -> Iterator[str]:
    """The URL of a migrated database for tests that keep to threads of their own; one for each worker."""
    name = f"test_{random_id().hex[:16]}"
    yield asyncio.run(create_database(servers, name, template=servers.template))
    asyncio.run(drop_database(servers, name))


@pytest.fixture
def topic_prefix() -> str:
    """A prefix for topics and consumer groups that no other test has."""
    return f"test-{random_id().hex[:12]}."
