"""What the founding documents say of the kernel, over both adapters."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from intention_kernel.testing.agent_seed_contract import AgentSeedContract
from intention_kernel.testing.boundary_harness import BoundaryHarness
from intention_kernel.testing.memory_harness import MemoryHarness
from intention_kernel.testing.postgres_harness import open_boundary


class TestOverMemory(AgentSeedContract):
    """In this process."""

    @pytest.fixture
    def boundary(self) -> BoundaryHarness:
        return MemoryHarness()


class TestOverPostgres(AgentSeedContract):
    """On a real database."""

    @pytest.fixture
    async def boundary(self, shared_database: str) -> AsyncIterator[BoundaryHarness]:
        async with open_boundary(shared_database) as opened:
            yield opened
