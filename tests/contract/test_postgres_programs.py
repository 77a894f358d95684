"""Durable turns of Programs over Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.testing.misbehaviour_contract import MisbehaviourContract
from intention_kernel.testing.program_continuation_contract import ProgramContinuationContract
from intention_kernel.testing.program_effect_contract import ProgramEffectContract
from intention_kernel.testing.program_retry_contract import ProgramRetryContract
from intention_kernel.testing.program_turn_contract import ProgramTurnContract

from tests.contract.postgres_harness import PostgresHarness


@pytest.fixture
async def boundary(shared_database: str) -> AsyncIterator[PostgresHarness]:
    async with PostgresStore.open(shared_database) as store:
        connection = await asyncpg.connect(shared_database)
        try:
            yield PostgresHarness(store, connection)
        finally:
            await connection.close()


class TestTurns(ProgramTurnContract):
    """Protocol 1."""


class TestEffects(ProgramEffectContract):
    """Protocol 3: a call and its receipt."""


class TestRetries(ProgramRetryContract):
    """Protocol 3: the journal."""


class TestContinuations(ProgramContinuationContract):
    """Protocol 5."""


class TestMisbehaviour(MisbehaviourContract):
    """Design 3: whoever misbehaves harms itself."""
