"""`intention_kernel.verification.bank.application:application`: one Program over the bank, as build a or build b.

`BANK_ADDRESS=HOST:PORT` names the bank. `BANK_BUILD=b` is the next build: another fingerprint, and it goes on with what
build a left; build a leaves alone what b has touched. Build c is b without that: it and a leave each other's threads alone.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from intention_kernel.agent import Agent
from intention_kernel.application import Application
from intention_kernel.errors import ConfigurationError
from intention_kernel.verification.bank.client import BankClient
from intention_kernel.verification.bank.effects import CHARGE, NOTIFY, PORT, REFUND, RESERVE
from intention_kernel.verification.bank.program import program

AGENT_ID = "payer"
APPLICATION = "intention_kernel.verification.bank.application:application"
ADDRESS_VARIABLE = "BANK_ADDRESS"
BUILD_VARIABLE = "BANK_BUILD"


@asynccontextmanager
async def bank() -> AsyncIterator[BankClient]:
    """The bank that BANK_ADDRESS names."""
    address = os.environ.get(ADDRESS_VARIABLE)
    if not address:
        raise ConfigurationError(
            f"{ADDRESS_VARIABLE}: is not set; start `python -m intention_kernel.verification.bank` and give the address"
            " it prints"
        )
    async with BankClient(address) as client:
        yield client


def payer(build: str) -> Agent:
    """The agent as that build has it, a, b or c; raises ConfigurationError for another."""
    first = Agent(id=AGENT_ID, program=program, effects=(CHARGE, RESERVE, NOTIFY))
    if build == "a":
        return first
    if build in ("b", "c"):
        return Agent(
            id=AGENT_ID,
            program=program,
            effects=(*first.effects, REFUND),
            accepts_fingerprints=(first.fingerprint,) if build == "b" else (),
        )
    raise ConfigurationError(f"{BUILD_VARIABLE}: {build!r} is not a, b or c")


application = Application(
    agents=(payer(os.environ.get(BUILD_VARIABLE) or "a"),),
    ports={PORT: bank},
)
