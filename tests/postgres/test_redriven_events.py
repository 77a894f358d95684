"""Outbox rows of a redriven turn: each is deleted by what it is, and never by the turn that it belongs to (protocol R35)."""

from __future__ import annotations

from intention_kernel.ids import random_id
from intention_kernel.ports.redrives import Ruling, SetAsideRef, TurnRedriven
from intention_kernel.postgres.operating import open_pool
from intention_kernel.postgres.outbox import PostgresOutbox
from intention_kernel.postgres.redrives import PostgresRedrives
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.testing.boundary_calls import begun, commit_of, committed, set_aside_of


async def test_an_acknowledged_failure_takes_no_event_of_the_redriven_turn_with_it(
    store: PostgresStore, fresh_database: str
) -> None:
    """R35: the relay fetched `turn.failed` before the redrive, and hears of it when the turn's own events wait."""
    await store.set_aside(set_aside_of("t", "turn-1", await begun(store, "t", "turn-1")))
    async with open_pool(fresh_database, pool_size=1) as (pool, wake):
        outbox, redrives = PostgresOutbox(pool), PostgresRedrives(pool, wake)
        shards = range(store.installation.shard_count)
        fetched = await outbox.fetch(shards, rows_per_shard=10, max_bytes=10**6, held=())
        ruling = Ruling(random_id(), "ana", "fixed")
        answer = await redrives.redrive_turn(SetAsideRef("t", 1), ruling, after_later_turns=False)
        assert isinstance(answer, TurnRedriven)
        await committed(store, commit_of("t", "turn-1", await begun(store, "t", "turn-1")))
        await outbox.delete(fetched)
        left = await outbox.fetch(shards, rows_per_shard=10, max_bytes=10**6, held=())
    assert [(row.topic, row.dedupe, len(row.records)) for row in left] == [
        ("turns.requests", "redrive:1", 1),
        ("turns.events", "2", 2),
    ]
