"""The contract of the durable boundary over Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from intention_kernel.testing.boundary_contract import (
    ContinuationContract,
    EffectStoreContract,
    ManyThreadsContract,
    RedrivesContract,
    RejectionsContract,
    RetentionContract,
    SettlementContract,
    TurnStoreContract,
    ValueContract,
)
from intention_kernel.testing.postgres_harness import PostgresHarness, open_boundary


@pytest.fixture
async def boundary(shared_database: str) -> AsyncIterator[PostgresHarness]:
    async with open_boundary(shared_database) as opened:
        yield opened


class TestTurns(TurnStoreContract):
    """Protocol 1, 7 and 9."""


class TestEffects(EffectStoreContract):
    """Protocol 3."""


class TestSettlements(SettlementContract):
    """Protocol 4."""


class TestContinuations(ContinuationContract):
    """Protocol 5."""


class TestRedrives(RedrivesContract):
    """Protocol 6."""


class TestRejections(RejectionsContract):
    """Protocol 1 and 6."""


class TestRetention(RetentionContract):
    """Protocol 8."""


class TestValues(ValueContract):
    """Protocol 2, R13."""


class TestManyThreads(ManyThreadsContract):
    """Protocol 2."""
