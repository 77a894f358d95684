"""Durable turns of Programs over Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from intention_kernel.testing.misbehaviour_contract import MisbehaviourContract
from intention_kernel.testing.postgres_harness import PostgresHarness, open_boundary
from intention_kernel.testing.program_continuation_contract import ProgramContinuationContract
from intention_kernel.testing.program_effect_contract import ProgramEffectContract
from intention_kernel.testing.program_retry_contract import ProgramRetryContract
from intention_kernel.testing.program_turn_contract import ProgramTurnContract


@pytest.fixture
async def boundary(shared_database: str) -> AsyncIterator[PostgresHarness]:
    async with open_boundary(shared_database) as opened:
        yield opened


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
