"""Everything that is there when a campaign is over: the shop's records and ledger, our database, the topic."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import asyncpg
from intention_kernel.contracts.event import WireRecord, unpack_records
from intention_kernel.contracts.json_codec import loads
from intention_kernel.postgres.packing import unpack
from intention_kernel.testing.aftermath import read_once
from intention_kernel.testing.system import System

from examples.retail.campaign.player import Played
from examples.retail.campaign.scratch import Place
from examples.retail.records import Changes
from examples.retail.shop_client import LedgerMember, ShopClient

_AT_ONCE = 8

_TURNS = "select thread_id, turn_id, revision, status, events from turns order by thread_id, revision"
_RECEIPTS = "select thread_id, effect_key, state, contradicted, value from receipts order by thread_id, effect_key"
_OPEN_ITEMS = "select thread_id, effect_key from reconciliation_items where phase in ('open', 'decided')"
_GIVEN_UP = (
    "select thread_id, turn_id, reason from set_aside_turns"
    " union all select thread_id, turn_id, reason from rejected_requests"
)
_MOVES = "select state, cause, from_state, count(*) from receipt_transitions group by 1, 2, 3"


@dataclass(frozen=True, slots=True)
class Turn:
    """A committed turn and the events committed with it."""

    turn_id: str
    revision: int
    status: str
    events: tuple[WireRecord, ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt of ours. `reference` is the shop's, in the value of a completed one."""

    thread_id: str
    key: str
    state: str
    contradicted: bool
    listed: bool
    reference: str | None


@dataclass(frozen=True, slots=True)
class Moves:
    """How often receipts became uncertain, and by what they were settled."""

    uncertain: int
    settled_by_resolver: int
    settled_by_late_answer: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """By thread, which is the world and the conversation's id, unless it says otherwise.

    `published` is what a reader of the topic keeps, `unread` what it complains of; `left` is work that is not done.
    """

    played: Sequence[Played]
    changes: Mapping[str, Changes]
    ledger: Sequence[LedgerMember]
    receipts: Sequence[Receipt]
    turns: Mapping[str, Sequence[Turn]]
    published: Mapping[str, Sequence[WireRecord]]
    unread: Sequence[str]
    given_up: Sequence[str]
    left: Sequence[str]
    moves: Moves


async def collect(place: Place, played: Sequence[Played], left: Sequence[str]) -> Evidence:
    """Read everything; nothing runs any more that could change it."""
    system = place.system
    published, unread = read_once(await system.broker.read(system.topics.events))
    return Evidence(
        played=played,
        changes=await _changes(place.shop, [one.conversation["id"] for one in played]),
        ledger=await place.shop.ledger(),
        receipts=await _receipts(system),
        turns=_by_thread(await system.fetch(_TURNS)),
        published=published,
        unread=unread,
        given_up=[f"{row['turn_id']}: {row['reason']}" for row in await system.fetch(_GIVEN_UP)],
        left=left,
        moves=_moves(await system.fetch(_MOVES)),
    )


async def _changes(shop: ShopClient, worlds: Iterable[str]) -> dict[str, Changes]:
    few = asyncio.Semaphore(_AT_ONCE)

    async def one(world: str) -> tuple[str, Changes]:
        async with few:
            return world, await shop.changes(world)

    return dict(await asyncio.gather(*map(one, worlds)))


async def _receipts(system: System) -> list[Receipt]:
    items = {(row["thread_id"], row["effect_key"]) for row in await system.fetch(_OPEN_ITEMS)}
    return [
        Receipt(
            thread_id=row["thread_id"],
            key=row["effect_key"],
            state=row["state"],
            contradicted=row["contradicted"],
            listed=(row["thread_id"], row["effect_key"]) in items,
            reference=_reference(row["value"]),
        )
        for row in await system.fetch(_RECEIPTS)
    ]


def _reference(value: bytes | None) -> str | None:
    outcome = loads(unpack(value)) if value is not None else None
    return cast("str | None", outcome.get("reference")) if isinstance(outcome, dict) else None


def _by_thread(rows: Iterable[asyncpg.Record]) -> dict[str, list[Turn]]:
    threads: dict[str, list[Turn]] = defaultdict(list)
    for row in rows:
        events = tuple(unpack_records(unpack(row["events"])))
        threads[row["thread_id"]].append(Turn(row["turn_id"], row["revision"], row["status"], events))
    return threads


def _moves(rows: Iterable[asyncpg.Record]) -> Moves:
    counted: Counter[str] = Counter()
    for row in rows:
        if row["state"] == "uncertain" and row["from_state"] != "uncertain":
            counted["uncertain"] += row["count"]
        elif row["from_state"] == "uncertain" and row["state"] != "uncertain":
            counted[row["cause"]] += row["count"]
    return Moves(counted["uncertain"], counted["settle"], counted["late_answer"])
