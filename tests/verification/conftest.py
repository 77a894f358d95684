"""A bank of each test's own, in a process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from intention_kernel.verification.bank.client import BankClient
from intention_kernel.verification.bank.running import RunningBank, running_bank


@pytest.fixture
async def bank(tmp_path: Path) -> AsyncIterator[RunningBank]:
    """Listening, nothing done, no faults."""
    async with running_bank(tmp_path / "bank.sqlite") as running:
        yield running


@pytest.fixture
async def client(bank: RunningBank) -> AsyncIterator[BankClient]:
    """A patient one."""
    async with bank.client() as connected:
        yield connected
