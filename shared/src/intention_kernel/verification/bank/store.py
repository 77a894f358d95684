"""The bank's world in one SQLite file: what arrived, what happened, which keys are closed, what is to go wrong.

WAL with synchronous=normal: a killed process keeps whatever it committed. (A machine that loses power may not.)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Self, cast

from pydantic import TypeAdapter

from intention_kernel.contracts.json_codec import dumps, loads
from intention_kernel.verification.bank.faults import Fault, Faults
from intention_kernel.verification.bank.messages import (
    PAGE_ROWS,
    Call,
    Close,
    Done,
    Find,
    Known,
    LedgerRow,
    Operation,
    Refused,
    Unknown,
    Write,
)

_SQL = Path(__file__).parent / "sql"
_FAULTS = TypeAdapter(Faults)


@cache
def _sql(name: str) -> str:
    return (_SQL / f"{name}.sql").read_text("utf-8")


class BankStore:
    """One connection to the file, for one thread. A context manager that closes it."""

    def __init__(self, path: Path) -> None:
        """Opens the file, made where it is missing. Raises sqlite3.Error where it is no database of a bank."""
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=10)
        try:
            for pragma in ("journal_mode = wal", "synchronous = normal"):
                self._connection.execute(f"pragma {pragma}")
            self._connection.executescript(_sql("schema"))
            row = self._connection.execute(_sql("read_faults")).fetchone()
        except BaseException:
            self._connection.close()
            raise
        self._faults = Faults() if row is None else _FAULTS.validate_json(row[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @property
    def faults(self) -> Faults:
        """What goes wrong now."""
        return self._faults

    def set_faults(self, faults: Faults) -> None:
        """What goes wrong from now on, over restarts, too."""
        self._connection.execute(_sql("set_faults"), {"faults": _FAULTS.dump_json(faults).decode()})
        self._faults = faults

    def arrive(self, request: Write | Find | Close) -> tuple[Fault, ...]:
        """Keep that the request arrived; returns the faults that strike it."""
        row = _call_of(request)
        with self._transaction():
            arrival = int(self._connection.execute(_sql("arrivals"), row).fetchone()[0]) + 1
            struck = self._struck(request, arrival)
            self._connection.execute(_sql("arrive"), {**row, "arrival": arrival, "faults": " ".join(struck)})
        return struck

    def apply(self, write: Write) -> Done | Refused:
        """Let it happen, unless its key is closed or a notice of that key is there."""
        row = {"op": write.op, "thread_id": write.thread_id, "key": write.key}
        with self._transaction():
            stopped = self._stopped(write, row)
            if stopped is not None:
                return stopped
            content = {"attempt": write.attempt, "payload": dumps(write.payload).decode(), "prefix": write.op.upper()}
            (reference,) = self._connection.execute(_sql("append"), {**row, **content}).fetchone()
        return Done(reference)

    def find(self, op: Operation, thread_id: str, key: str) -> Known | Unknown:
        """The first effect under the key, if there is one now."""
        asked = {"op": op, "thread_id": thread_id, "key": key}
        row = self._connection.execute(_sql("first_of_key"), asked).fetchone()
        return Unknown() if row is None else Known(row[0], loads(row[1]), row[2])

    def close_key(self, close: Close) -> Known | Unknown:
        """The reservation, or none ever by these attempts."""
        with self._transaction():
            found = self.find("reserve", close.thread_id, close.key)
            if isinstance(found, Unknown):
                row = {"thread_id": close.thread_id, "key": close.key, "attempt": close.attempt}
                self._connection.execute(_sql("close"), row)
        return found

    def ledger(self, after: int) -> tuple[LedgerRow, ...]:
        """The next page."""
        rows = self._connection.execute(_sql("ledger_page"), {"after": after, "rows": PAGE_ROWS})
        return tuple(LedgerRow(*row) for row in rows)

    def calls(self, after: int) -> tuple[Call, ...]:
        """The next page."""
        rows = self._connection.execute(_sql("calls_page"), {"after": after, "rows": PAGE_ROWS})
        return tuple(
            Call(sequence, op, thread_id, key, attempt, arrival, cast("tuple[Fault, ...]", tuple(faults.split())))
            for sequence, op, thread_id, key, attempt, arrival, faults in rows
        )

    def _struck(self, request: Write | Find | Close, arrival: int) -> tuple[Fault, ...]:
        if not isinstance(request, Write):
            return ()
        struck = self._faults.strike(request.op, request.thread_id, request.key, arrival)
        # A bank that knows its keys speaks for all arrivals of one: an earlier one may have happened, or may yet.
        return () if request.op == "notify" and arrival > 1 and "refuse" in struck else struck

    def _stopped(self, write: Write, row: dict[str, str]) -> Done | Refused | None:
        if write.op == "reserve":
            closed = self._connection.execute(_sql("closed"), row).fetchone()
            if closed is not None and write.attempt <= closed[0]:
                return Refused(f"the key is closed up to attempt {closed[0]}")
        if write.op == "notify":
            known = self.find("notify", write.thread_id, write.key)
            if isinstance(known, Known):
                same = dumps(known.payload) == dumps(write.payload)
                return Done(known.reference, repeated=True) if same else Refused("the key has another payload")
        return None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # immediate takes the write lock before the first read, so that no other writer comes between read and write.
        self._connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")


def _call_of(request: Write | Find | Close) -> dict[str, str | int]:
    row: dict[str, str | int] = {"thread_id": request.thread_id, "key": request.key}
    match request:
        case Write(op=op, attempt=attempt):
            return {**row, "op": op, "attempt": attempt}
        case Find(op=op):
            return {**row, "op": f"find {op}", "attempt": 0}
        case Close(attempt=attempt):
            return {**row, "op": "close", "attempt": attempt}
