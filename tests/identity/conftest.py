"""A database of users that is the test's alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.identity.bench import People, people


@pytest.fixture
async def db(fresh_database: str) -> AsyncIterator[People]:
    async with people(fresh_database) as opened:
        yield opened
