"""Durable turns of compiled agents over the memory adapter."""

from __future__ import annotations

import pytest
from intention_kernel.testing.agent_continuation_contract import AgentContinuationContract
from intention_kernel.testing.agent_retry_contract import AgentRetryContract
from intention_kernel.testing.memory_harness import MemoryHarness


@pytest.fixture
def boundary() -> MemoryHarness:
    return MemoryHarness()


class TestRetries(AgentRetryContract):
    """Protocol 3."""


class TestContinuations(AgentContinuationContract):
    """Protocol 5."""
