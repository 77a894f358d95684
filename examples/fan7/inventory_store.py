"""The inventory's world in one SQLite file: keyed effects, each applied at most once, with the receipt beside it.

Applying a keyed action with the same payload twice leaves the world as applying it once does: F(F(W)) = F(W).
The effect, its receipt and its ledger row become durable in one transaction (WAL, synchronous=FULL), so that a
killed process either did all of it or nothing.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Self, TypeAlias

from intention_kernel.clock import Clock, SystemClock

Payload: TypeAlias = Mapping[str, str | int]

IN_MEMORY = Path(":memory:")
"""A world that ends with its store, for tests."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The effect happened now; `receipt` is its JSON."""

    receipt: bytes


@dataclass(frozen=True, slots=True)
class Repeated:
    """The effect happened earlier, under the same key with the same payload; `receipt` is the original one."""

    receipt: bytes


@dataclass(frozen=True, slots=True)
class Conflict:
    """The key belongs to another payload, whose fingerprint this is; nothing changed."""

    fingerprint: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The world does not allow the effect; nothing changed and the key is still free. `detail` says what to do."""

    detail: str


Outcome: TypeAlias = Applied | Repeated | Conflict | Refused


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One effect that happened. Ids count from 1 without gaps, in the order of the effects."""

    id: int
    kind: str
    key: str
    payload: str
    fingerprint: str
    reference: str
    applied_at: str


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    prefix: str
    time_member: str
    find: str
    insert: str


_RESERVATION = _Kind(
    name="reservation",
    prefix="RES",
    time_member="reservedAt",
    find="SELECT fingerprint, receipt FROM reservations WHERE key = ?",
    insert="INSERT INTO reservations (key, sku, quantity, fingerprint, reference, reserved_at, receipt)"
    " VALUES (:key, :sku, :quantity, :fingerprint, :reference, :at, :receipt)",
)
_WORK_ORDER = _Kind(
    name="work_order",
    prefix="WO",
    time_member="writtenAt",
    find="SELECT fingerprint, receipt FROM work_orders WHERE key = ?",
    insert="INSERT INTO work_orders (key, reservation, task, fingerprint, reference, written_at, receipt)"
    " VALUES (:key, :reservation, :task, :fingerprint, :reference, :at, :receipt)",
)
_AVAILABLE = "SELECT available FROM stock WHERE sku = ?"
_TAKE = "UPDATE stock SET available = available - :quantity WHERE sku = :sku"
_NEXT_LEDGER_ID = "SELECT COALESCE(MAX(id), 0) + 1 FROM ledger"
_APPEND = (
    "INSERT INTO ledger (id, kind, key, payload, fingerprint, reference, applied_at)"
    " VALUES (:id, :kind, :key, :payload, :fingerprint, :reference, :at)"
)
_LEDGER = "SELECT id, kind, key, payload, fingerprint, reference, applied_at FROM ledger ORDER BY id"


def canonical(payload: Payload) -> bytes:
    """The payload as JSON that does not depend on the order of its members."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def fingerprint_of(payload: Payload) -> str:
    """SHA-256 of the canonical payload, in hex: what a key is bound to."""
    return hashlib.sha256(canonical(payload)).hexdigest()


class InventoryStore:
    """One connection to the file, for one thread. Several stores may share a file: writers wait for each other."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        """Opens the file, creating it with FILTER-A = 4. Raises sqlite3.Error where it is no database of ours."""
        self._clock = clock or SystemClock()
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=10)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Give the file back; the store is of no use afterwards."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reserve(self, key: str, sku: str, quantity: int) -> Outcome:
        """Take `quantity` (> 0) of `sku` out of the stock, once per key."""
        return self._apply(
            _RESERVATION, key, {"sku": sku, "quantity": quantity}, lambda: self._take(sku=sku, quantity=quantity)
        )

    def write_work_order(self, key: str, reservation: str, task: str) -> Outcome:
        """Write down a task that uses a reservation, once per key; refused where the reservation does not exist."""
        return self._apply(
            _WORK_ORDER, key, {"reservation": reservation, "task": task}, lambda: self._missing(reservation)
        )

    def reservation(self, key: str) -> bytes | None:
        """The receipt of that reservation, byte for byte as it was first given."""
        return self._receipt(_RESERVATION, key)

    def work_order(self, key: str) -> bytes | None:
        """The receipt of that work order, byte for byte as it was first given."""
        return self._receipt(_WORK_ORDER, key)

    def available(self, sku: str) -> int | None:
        """Units that nobody reserved; None where the inventory does not know the sku."""
        row = self._connection.execute(_AVAILABLE, (sku,)).fetchone()
        return None if row is None else int(row[0])

    def ledger(self) -> list[LedgerEntry]:
        """Every effect that ever happened, oldest first."""
        return [LedgerEntry(*row) for row in self._connection.execute(_LEDGER)]

    def _prepare(self) -> None:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._connection.execute(f"PRAGMA {pragma}")
        schema = files("examples.fan7").joinpath("inventory_schema.sql").read_text(encoding="utf-8")
        self._connection.executescript(schema)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # IMMEDIATE takes the write lock before the first read, so that no other writer comes between read and write.
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _apply(self, kind: _Kind, key: str, payload: Payload, effect: Callable[[], Refused | None]) -> Outcome:
        fingerprint = fingerprint_of(payload)
        with self._transaction():
            known = self._connection.execute(kind.find, (key,)).fetchone()
            if known is not None:
                return Repeated(known[1]) if known[0] == fingerprint else Conflict(known[0])
            refused = effect()
            if refused is not None:
                return refused
            return Applied(self._record(kind, key, payload, fingerprint))

    def _record(self, kind: _Kind, key: str, payload: Payload, fingerprint: str) -> bytes:
        at = self._clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        ledger_id: int = self._connection.execute(_NEXT_LEDGER_ID).fetchone()[0]
        reference = f"{kind.prefix}-{ledger_id:06d}"
        receipt = {"key": key, **payload, "reference": reference, "fingerprint": fingerprint, kind.time_member: at}
        content = json.dumps(receipt, separators=(",", ":"), ensure_ascii=False).encode()
        row = {"key": key, "fingerprint": fingerprint, "reference": reference, "at": at}
        self._connection.execute(kind.insert, {**payload, **row, "receipt": content})
        entry = {"id": ledger_id, "kind": kind.name, "payload": canonical(payload).decode()}
        self._connection.execute(_APPEND, {**row, **entry})
        return content

    def _take(self, *, sku: str, quantity: int) -> Refused | None:
        available = self.available(sku)
        if available is None:
            return Refused(f"The inventory has no sku {sku!r}; ask for one that GET /stock/{{sku}} knows.")
        if available < quantity:
            return Refused(f"{available} of {sku} available, {quantity} asked for; ask for fewer.")
        self._connection.execute(_TAKE, {"sku": sku, "quantity": quantity})
        return None

    def _missing(self, reservation: str) -> Refused | None:
        if self.reservation(reservation) is None:
            return Refused(f"There is no reservation {reservation!r}; reserve first, then write the work order.")
        return None

    def _receipt(self, kind: _Kind, key: str) -> bytes | None:
        row = self._connection.execute(kind.find, (key,)).fetchone()
        return None if row is None else bytes(row[1])
