"""Records what happened: topics, tables and offsets of an installation, beside what clients sent and the provider applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import asyncpg

from intention_kernel.contracts.event import unpack_records
from intention_kernel.contracts.json_codec import loads
from intention_kernel.history.values import (
    Applied,
    Head,
    History,
    Item,
    Move,
    Receipt,
    Record,
    Rejected,
    Sent,
    SetAside,
    Turn,
    WireEvent,
)
from intention_kernel.postgres.packing import unpack
from intention_kernel.testing.broker import LogRecord
from intention_kernel.testing.system import System, Work

_SQL = Path(__file__).parent / "sql"


async def record_history(system: System, sent: Sequence[Sent], ledger: Sequence[Applied]) -> History:
    """Everything as it is now; it is a history once nothing runs any more that could change it.

    Raises InfrastructureError where Kafka does not answer, and the driver's errors where Postgres does not.
    """
    topics = system.topics
    (installation,) = await _rows(system, "installation")
    return History(
        sent=tuple(sent),
        requests=_records(await system.broker.read(topics.requests)),
        events=_records(await system.broker.read(topics.events)),
        rejections=_records(await system.broker.read(topics.rejected)),
        turns=tuple(map(_turn, await _rows(system, "turns"))),
        set_aside=tuple(map(_set_aside, await _rows(system, "set_aside"))),
        rejected=tuple(map(_rejected, await _rows(system, "rejected"))),
        heads=tuple(Head(**row) for row in await _rows(system, "heads")),
        receipts=tuple(map(_receipt, await _rows(system, "receipts"))),
        moves=tuple(map(_move, await _rows(system, "moves"))),
        items=tuple(map(_item, await _rows(system, "items"))),
        ledger=tuple(ledger),
        offsets=await system.offsets(),
        left=tuple(map(_left, await system.open_work(()))),
        incarnation=installation["incarnation"],
        recoveries=installation["recoveries"],
    )


async def _rows(system: System, name: str) -> list[asyncpg.Record]:
    return await system.fetch((_SQL / f"history_{name}.sql").read_text("utf-8"))


def _records(records: Iterable[LogRecord]) -> tuple[Record, ...]:
    return tuple(
        Record(
            one.partition, one.offset, one.key, one.value, tuple((name, value or b"") for name, value in one.headers)
        )
        for one in records
    )


def _turn(row: asyncpg.Record) -> Turn:
    return Turn(
        thread_id=row["thread_id"],
        turn_id=row["turn_id"],
        revision=row["revision"],
        status=row["status"],
        first_sequence=row["first_sequence"],
        events=tuple(WireEvent(event.headers, event.value) for event in unpack_records(unpack(row["events"]))),
    )


def _set_aside(row: asyncpg.Record) -> SetAside:
    return SetAside(
        thread_id=row["thread_id"],
        turn_id=row["turn_id"],
        revision=row["revision"],
        state=row["state"],
        reason=row["reason"],
        place=(row["origin_partition"], row["origin_offset"]),
    )


def _rejected(row: asyncpg.Record) -> Rejected:
    return Rejected(
        place=(row["origin_partition"], row["origin_offset"]),
        thread_id=row["thread_id"],
        turn_id=row["turn_id"],
        revision=row["revision"],
        state=row["state"],
        reason=row["reason"],
        key=row["record_key"],
        value=row["record_value"],
    )


def _receipt(row: asyncpg.Record) -> Receipt:
    members = dict(row)
    value, reference = members.pop("value"), members.pop("reference")
    return Receipt(key=members.pop("effect_key"), reference=_reference(value) or reference, **members)


def _reference(value: bytes | None) -> str | None:
    """The provider's, where the value says one: then it is what the program was told."""
    document = loads(unpack(value)) if value is not None else None
    reference = document.get("reference") if isinstance(document, dict) else None
    return reference if isinstance(reference, str) else None


def _move(row: asyncpg.Record) -> Move:
    members = dict(row)
    return Move(key=members.pop("effect_key"), **members)


def _item(row: asyncpg.Record) -> Item:
    members = dict(row)
    return Item(key=members.pop("effect_key"), **members)


def _left(work: Work) -> str:
    return f"{work.what}: {work.count}, {work.example}"
