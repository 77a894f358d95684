"""The bank's answer to each request, faults included."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from intention_kernel.failpoints import failpoint
from intention_kernel.verification.bank.messages import (
    Answer,
    CallsPage,
    Close,
    Done,
    FaultsSet,
    Find,
    LedgerPage,
    ReadCalls,
    ReadLedger,
    Refused,
    Request,
    SetFaults,
    Unavailable,
    Write,
)
from intention_kernel.verification.bank.store import BankStore

_FAILED = "the bank failed while it worked on this"


@dataclass(frozen=True, slots=True)
class NoReply:
    """The connection is closed without an answer."""


class Bank:
    """Answers requests over one store. Its calls are short and run on the event loop, one after the other."""

    def __init__(self, store: BankStore) -> None:
        self._store = store

    async def answer(self, request: Request) -> Answer | NoReply:
        """Whoever asked may have gone: what was asked for happens all the same."""
        match request:
            case Write():
                return await self._write(request)
            case Find(op=op, thread_id=thread_id, key=key):
                self._store.arrive(request)
                return self._store.find(op, thread_id, key)
            case Close():
                self._store.arrive(request)
                return self._store.close_key(request)
            case ReadLedger(after=after):
                return LedgerPage(self._store.ledger(after))
            case ReadCalls(after=after):
                return CallsPage(self._store.calls(after))
            case SetFaults(faults=faults):
                self._store.set_faults(faults)
                return FaultsSet(faults)

    async def _write(self, write: Write) -> Answer | NoReply:
        delay_seconds = self._store.faults.delay_seconds
        struck = self._store.arrive(write)
        if "refuse" in struck:
            return Refused("refused before anything was done, as the faults ask for")
        if "failBefore" in struck:
            return Unavailable(_FAILED)
        if "delay" in struck:
            await asyncio.sleep(delay_seconds)
        outcome = self._store.apply(write)
        if isinstance(outcome, Done) and not outcome.repeated:
            await failpoint("provider.after_commit")
        if "failAfter" in struck:
            return Unavailable(_FAILED)
        return NoReply() if "dropReply" in struck else outcome
