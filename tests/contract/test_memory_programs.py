"""Durable turns of Programs over the memory adapter."""

from __future__ import annotations

import pytest
from intention_kernel.testing.memory_harness import MemoryHarness
from intention_kernel.testing.misbehaviour_contract import MisbehaviourContract
from intention_kernel.testing.program_contract import ProgramEffectContract, ProgramTurnContract


@pytest.fixture
def boundary() -> MemoryHarness:
    return MemoryHarness()


class TestTurns(ProgramTurnContract):
    """Protocol 1."""


class TestEffects(ProgramEffectContract):
    """Protocol 3 and 5."""


class TestMisbehaviour(MisbehaviourContract):
    """Design 3: whoever misbehaves harms itself."""
