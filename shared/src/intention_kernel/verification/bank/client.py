"""How the application and a campaign speak to the bank. Nothing is ever tried twice in here."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self, TypeVar

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import InfrastructureError, RejectedError
from intention_kernel.history.values import Applied
from intention_kernel.verification.bank.faults import Faults
from intention_kernel.verification.bank.messages import (
    LONGEST_LINE_BYTES,
    PAGE_ROWS,
    Answer,
    Call,
    CallsPage,
    Close,
    Done,
    FaultsSet,
    Find,
    Known,
    LedgerPage,
    LedgerRow,
    Operation,
    ReadCalls,
    ReadLedger,
    Refused,
    Request,
    SetFaults,
    Unknown,
    Write,
    read_answer,
    request_line,
)

ANSWER_SECONDS = 1.0
"""How long an operation waits: less than the longest delay, so that a delayed effect happens after its caller has gone."""

_Wanted = TypeVar("_Wanted")
_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class BankClient:
    """Connections to one bank, each for one call at a time and used again; an async context manager that closes them.

    Every method raises InfrastructureError where the bank did not answer within `answer_seconds`, or answered that it
    failed: nobody knows what became of the call. A call that has ended, in whatever way, sends nothing any more.
    """

    def __init__(self, address: str, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        """`address` is HOST:PORT."""
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self._answer_seconds = answer_seconds
        self._idle: list[_Connection] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _, writer in self._idle:
            writer.transport.abort()
        self._idle.clear()

    async def write(self, op: Operation, thread_id: str, key: str, attempt: int, payload: JsonValue) -> Done | Refused:
        """Do it, once more at every call but for notices; Refused proves that this call did nothing."""
        answer = await self._ask(Write(op, thread_id, key, attempt, payload))
        return answer if isinstance(answer, Refused) else _expected(answer, Done)

    async def find(self, op: Operation, thread_id: str, key: str) -> Known | Unknown:
        """What was done under the key first."""
        answer = await self._ask(Find(op, thread_id, key))
        return answer if isinstance(answer, Unknown) else _expected(answer, Known)

    async def close(self, thread_id: str, key: str, attempt: int) -> Known | Unknown:
        """The reservation of that key; if there is none, its attempts up to this one are refused for ever."""
        answer = await self._ask(Close(thread_id, key, attempt))
        return answer if isinstance(answer, Unknown) else _expected(answer, Known)

    async def set_faults(self, faults: Faults) -> None:
        """What goes wrong from now on; `Faults()` is nothing."""
        _expected(await self._ask(SetFaults(faults)), FaultsSet)

    async def ledger(self) -> tuple[LedgerRow, ...]:
        """Everything that happened, in its order."""
        rows: list[LedgerRow] = []
        while page := _expected(await self._ask(ReadLedger(rows[-1].sequence if rows else 0)), LedgerPage).rows:
            rows += page
            if len(page) < PAGE_ROWS:
                break
        return tuple(rows)

    async def calls(self) -> tuple[Call, ...]:
        """Every write, find and close that arrived, in its order."""
        rows: list[Call] = []
        while page := _expected(await self._ask(ReadCalls(rows[-1].sequence if rows else 0)), CallsPage).rows:
            rows += page
            if len(page) < PAGE_ROWS:
                break
        return tuple(rows)

    async def applied(self) -> tuple[Applied, ...]:
        """The ledger as a history has it."""
        return tuple(Applied(row.thread_id, row.key, row.reference) for row in await self.ledger())

    async def _ask(self, request: Request) -> Answer:
        try:
            async with asyncio.timeout(self._answer_seconds):
                line = await self._exchange(request_line(request))
            return read_answer(line)
        except TimeoutError:
            raise InfrastructureError(f"the bank did not answer within {self._answer_seconds:g} s") from None
        except (OSError, ValueError) as error:
            raise InfrastructureError(f"the bank could not be asked: {error}") from error
        except RejectedError as error:
            raise InfrastructureError(f"what answered is no bank: {error.detail}") from error

    async def _exchange(self, line: bytes) -> bytes:
        reader, writer = self._reusable() or await asyncio.open_connection(
            self._host, self._port, limit=LONGEST_LINE_BYTES
        )
        answered = b""
        try:
            writer.write(line)
            answered = await reader.readline()
        finally:
            if answered.endswith(b"\n"):
                self._idle.append((reader, writer))
            else:
                # Not `close`, which would still send what waits in our buffer (protocol R22 c).
                writer.transport.abort()
        if not answered.endswith(b"\n"):
            raise ConnectionError("it closed the connection without an answer")
        return answered

    def _reusable(self) -> _Connection | None:
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and not writer.transport.is_closing():
                return reader, writer
            writer.transport.abort()
        return None


def _expected(answer: Answer, kind: type[_Wanted]) -> _Wanted:
    if isinstance(answer, kind):
        return answer
    raise InfrastructureError(f"the bank answered {answer}")
