"""The shop's worlds in one SQLite file: each a copy-on-write view of the same records, each keyed write applied once.

The records that a write changes, its outcome and its ledger row become durable in one transaction. A refusal is not
kept: nothing has happened, the key stays free, and the same request may be judged again later.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Self, TypeAlias

from intention_kernel.clock import Clock, SystemClock
from intention_kernel.errors import ConfigurationError

from examples.retail.records import ORDER, USER, Changes, Order, Records, User
from examples.retail.rules.operations import Kwargs, Read, Write
from examples.retail.rules.outcomes import Answer, Change, Refusal

IN_MEMORY = Path(":memory:")
"""Worlds that end with their store, for tests."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The effect happened now; `outcome` is its JSON."""

    outcome: bytes


@dataclass(frozen=True, slots=True)
class Repeated:
    """The effect happened earlier, under the same key with the same payload; `outcome` is the original one."""

    outcome: bytes


@dataclass(frozen=True, slots=True)
class Conflict:
    """The key belongs to another payload, whose fingerprint this is; nothing changed."""

    fingerprint: str


Written: TypeAlias = Applied | Repeated | Conflict | Refusal


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One effect that happened. Sequences count from 1 without gaps over all worlds, in the order of the effects."""

    sequence: int
    world: str
    key: str
    operation: str
    kwargs: str
    fingerprint: str
    reference: str
    applied_at: str


_FILES = "SELECT fingerprint FROM files"
_BIND_FILES = "INSERT INTO files (id, fingerprint) VALUES (1, ?) ON CONFLICT DO NOTHING"
_USERS = "SELECT id, record FROM users WHERE world = ?"
_ORDERS = "SELECT id, record FROM orders WHERE world = ?"
_PUT_USER = "INSERT OR REPLACE INTO users (world, id, record) VALUES (?, ?, ?)"
_PUT_ORDER = "INSERT OR REPLACE INTO orders (world, id, record) VALUES (?, ?, ?)"
_OUTCOME = "SELECT fingerprint, outcome FROM outcomes WHERE world = ? AND key = ?"
_KEEP = "INSERT INTO outcomes (world, key, fingerprint, outcome) VALUES (:world, :key, :fingerprint, :outcome)"
_NEXT_SEQUENCE = "SELECT COALESCE(MAX(sequence), 0) + 1 FROM ledger"
_APPEND = (
    "INSERT INTO ledger (sequence, world, key, operation, kwargs, fingerprint, reference, applied_at)"
    " VALUES (:sequence, :world, :key, :operation, :kwargs, :fingerprint, :reference, :applied_at)"
)
_LEDGER = (
    "SELECT sequence, world, key, operation, kwargs, fingerprint, reference, applied_at FROM ledger ORDER BY sequence"
)


def canonical(value: object) -> str:
    """JSON that does not depend on the order of members."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def fingerprint_of(operation: str, kwargs: Kwargs) -> str:
    """SHA-256 of operation and arguments, in hex: what a key is bound to."""
    return hashlib.sha256(canonical([operation, dict(kwargs)]).encode()).hexdigest()


class ShopStore:
    """One connection to the file, for one thread. Several stores may share a file: writers wait for each other."""

    def __init__(self, path: Path, records: Records, clock: Clock | None = None) -> None:
        """Opens the file, creating it where it is missing, for worlds over `records`.

        Raises sqlite3.Error where it is no database of ours, ConfigurationError where its worlds are of other records.
        """
        self._records = records
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

    def write(self, world: str, key: str, operation: Write, kwargs: Kwargs) -> Written:
        """Apply the operation to that world, once per key of the world."""
        fingerprint = fingerprint_of(operation.name, kwargs)
        with self._transaction():
            known = self._connection.execute(_OUTCOME, (world, key)).fetchone()
            if known is not None:
                return Repeated(known[1]) if known[0] == fingerprint else Conflict(known[0])
            change = operation.perform(self._world(world), kwargs)
            if isinstance(change, Refusal):
                return change
            self._put(world, change)
            return Applied(self._record(world, key, operation, kwargs, change))

    def read(self, world: str, operation: Read, kwargs: Kwargs) -> Answer | Refusal:
        """What the operation answers in that world; a world that nobody wrote to is as the files."""
        return operation.perform(self._world(world), kwargs)

    def outcome(self, world: str, key: str) -> bytes | None:
        """The outcome of what was applied under that key, byte for byte as it was first given."""
        row = self._connection.execute(_OUTCOME, (world, key)).fetchone()
        return None if row is None else bytes(row[1])

    def changes(self, world: str) -> Changes:
        """Every record of that world that differs from the files."""
        return self._records.changes(self._users(world), self._orders(world))

    def ledger(self) -> list[LedgerEntry]:
        """Every effect that ever happened in any world, oldest first."""
        return [LedgerEntry(*row) for row in self._connection.execute(_LEDGER)]

    def _prepare(self) -> None:
        # A killed process loses nothing with NORMAL; only a power cut may take the latest writes, all of each or none.
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL"):
            self._connection.execute(f"PRAGMA {pragma}")
        schema = files("examples.retail").joinpath("shop_schema.sql").read_text(encoding="utf-8")
        self._connection.executescript(schema)
        fingerprint = self._records.fingerprint()
        self._connection.execute(_BIND_FILES, (fingerprint,))
        if self._connection.execute(_FILES).fetchone()[0] != fingerprint:
            raise ConfigurationError("The database holds worlds over other records; name another file or their folder.")

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

    def _world(self, world: str) -> Records:
        return self._records.over(self._users(world), self._orders(world))

    def _users(self, world: str) -> dict[str, User]:
        return {id: USER.validate_json(record) for id, record in self._connection.execute(_USERS, (world,))}

    def _orders(self, world: str) -> dict[str, Order]:
        return {id: ORDER.validate_json(record) for id, record in self._connection.execute(_ORDERS, (world,))}

    def _put(self, world: str, change: Change) -> None:
        users = [(world, id, json.dumps(user).encode()) for id, user in change.users.items()]
        orders = [(world, id, json.dumps(order).encode()) for id, order in change.orders.items()]
        self._connection.executemany(_PUT_USER, users)
        self._connection.executemany(_PUT_ORDER, orders)

    def _record(self, world: str, key: str, operation: Write, kwargs: Kwargs, change: Change) -> bytes:
        sequence: int = self._connection.execute(_NEXT_SEQUENCE).fetchone()[0]
        row = {
            "key": key,
            "operation": operation.name,
            "reference": f"SHOP-{sequence:06d}",
            "fingerprint": fingerprint_of(operation.name, kwargs),
        }
        at = self._clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        outcome = json.dumps({**row, "appliedAt": at, "result": change.result}).encode()
        row["world"] = world
        self._connection.execute(_KEEP, {**row, "outcome": outcome})
        ledger = {"sequence": sequence, "kwargs": canonical(dict(kwargs)), "applied_at": at}
        self._connection.execute(_APPEND, {**row, **ledger})
        return outcome
