"""The crash suite's outside world for anybody's servers: the bank, and one conversation with the agent `payer`."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.testing.crash_points import Conversation
from intention_kernel.testing.processes import Process
from intention_kernel.testing.system import Installation
from intention_kernel.verification.bank.application import AGENT_ID
from intention_kernel.verification.bank.faults import Faults
from intention_kernel.verification.bank.running import RunningBank, running_bank
from intention_kernel.verification.bank.steps import Emit, Notify, Reserve, Step, turn_text
from intention_kernel.verification.bank.store import BankStore

First = Literal["reserve", "notify"]
"""The effect that meets the failpoint: one that a lookup settles, or one that the same call again settles."""

_STEPS: dict[First, tuple[Step, ...]] = {
    "reserve": (Reserve("seat"), Notify("receipt")),
    "notify": (Notify("receipt"), Reserve("seat")),
}
_EFFECTS = ("bank.reserve:seat", "bank.notify:receipt")


class BankWorld:
    """A World of the crash suite; made by `running_world`. Its bank's file is read past the bank, for what really happened."""

    def __init__(self, bank: RunningBank, database: Path, first: First) -> None:
        self._bank = bank
        self._database = database
        self._first = first

    @property
    def provider(self) -> Process:
        """The bank's process."""
        return self._bank.process

    @property
    def conversation(self) -> Conversation:
        """A reservation and a notice, a turn after them, and one of a neighbour."""
        return Conversation(
            with_effects=_request("job", "pay", _STEPS[self._first]),
            after=_request("job", "after", (Emit(1),)),
            neighbour=_request("neighbour", "beside", (Emit(2),)),
            effects=_EFFECTS,
        )

    async def lose_next_reply(self) -> None:
        """Of the first effect, once."""
        async with self._bank.client() as client:
            await client.set_faults(Faults(drop_reply=1.0, first_arrivals=1, operations=(self._first,)))

    async def ledger(self) -> list[str]:
        """The keys of what happened."""
        with BankStore(self._database) as store:
            return [row.key for row in store.ledger(0)]

    def calls(self) -> list[str]:
        """The keys of the writes that arrived, with the repeats that nobody was permitted: of one attempt at a reservation.

        A notice may be repeated, since the bank deduplicates it; another attempt at a reservation follows a closed key.
        """
        with BankStore(self._database) as store:
            writes = [call for call in store.calls(0) if call.op in ("reserve", "notify")]
        sent = Counter((call.key, call.attempt) for call in writes if call.op == "reserve")
        most = {key: max(count for (other, _), count in sent.items() if other == key) for key, _ in sent}
        notices = {call.key: 1 for call in writes if call.op == "notify"}
        return list(Counter({**most, **notices}).elements())

    def beside(self, installation: Installation) -> Installation:
        """The installation whose processes use this bank."""
        return replace(installation, environment={**installation.environment, **self._bank.environment})


@asynccontextmanager
async def running_world(folder: Path, *, first: First = "reserve", failpoints: str = "") -> AsyncIterator[BankWorld]:
    """A bank that nobody used yet, with its file in `folder`; its process has these failpoints."""
    database = folder / "bank.sqlite"
    async with running_bank(database, failpoints=failpoints) as bank:
        yield BankWorld(bank, database, first)


def _request(thread_id: str, turn_id: str, steps: tuple[Step, ...]) -> TurnRequest:
    return TurnRequest(
        schema_version=1,
        thread_id=thread_id,
        turn_id=turn_id,
        agent_id=AGENT_ID,
        input=TurnInput(text=turn_text(steps)),
    )
