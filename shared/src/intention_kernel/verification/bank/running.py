"""A bank process under the hand of a test, a campaign or an operator's check."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from intention_kernel.testing.processes import Process
from intention_kernel.verification.bank.application import ADDRESS_VARIABLE
from intention_kernel.verification.bank.client import BankClient

_READY = "listening on "
_ANSWER_SECONDS = 10.0


class RunningBank:
    """Made by `running_bank`. It may be killed and started again: its file, faults and address stay."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._process: Process | None = None
        self.address = "127.0.0.1:0"

    @property
    def process(self) -> Process:
        """The process of now."""
        assert self._process is not None, "a running bank was started"
        return self._process

    @property
    def environment(self) -> Mapping[str, str]:
        """What names it to our processes."""
        return {ADDRESS_VARIABLE: self.address}

    async def start(self, failpoints: str = "") -> None:
        """Returns once it listens; at its old address, if it had one. What ran before has ended."""
        port = self.address.rpartition(":")[2]
        command = [sys.executable, "-m", "intention_kernel.verification.bank", "--port", port]
        self._process = await Process.start(
            "bank", [*command, "--database", self._database], {"INTENTION_FAILPOINTS": failpoints}, ready=_READY
        )
        self.address = (await self._process.await_ready()).removeprefix(_READY).strip()

    async def kill(self) -> None:
        """SIGKILL, and its end."""
        self.process.kill()
        await self.process.await_end()

    def client(self) -> BankClient:
        """For the ledger, the calls and the faults: more patient than an operation."""
        return BankClient(self.address, answer_seconds=_ANSWER_SECONDS)


@asynccontextmanager
async def running_bank(database: Path, *, failpoints: str = "") -> AsyncIterator[RunningBank]:
    """A bank over that file, made where it is missing; killed at the end."""
    bank = RunningBank(database)
    try:
        await bank.start(failpoints)
        yield bank
    finally:
        if bank._process is not None:
            await bank.kill()
