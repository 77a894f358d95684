"""Records that the broker never takes, on a real broker and an idempotent producer."""

from __future__ import annotations

from tests.relay.relay_bench import Bench, Turn, after_dedupe, turns_of

_LIMIT = 30_000
_TOO_LARGE = 50_000  # random bytes do not compress


async def test_a_record_that_is_too_large_stops_its_thread_and_topic_alone(bench: Bench) -> None:
    """R37: the row leaves the fetch window; the producer is rebuilt, or every later batch of the partition would fail."""
    await bench.limit_events(_LIMIT)
    await bench.insert([Turn(1, 1, 2), Turn(1, 3, 1, size=_TOO_LARGE), Turn(1, 4, 2)])
    await bench.insert_value(1, "turns.requests", "reconciliation:1", b"{}")
    await bench.insert(turns_of(range(65, 64 * 20, 64), turns=3, count=4))  # the same shard
    async with bench.relay() as relay:
        port = await relay.ready()
        await bench.until_waiting(2)
        await bench.insert(turns_of(range(2, 40), turns=3, count=4))  # every partition
        await bench.until_waiting(2)
        metrics = (await relay.get(port, "/metrics")).text
    assert "intention_relay_rows_refused_total 1.0" in metrics
    sequences = await bench.sequences()
    assert sequences.pop("thread-1") == [1, 2]
    assert {tuple(after_dedupe(found)) for found in sequences.values()} == {tuple(range(1, 13))}
    assert len(sequences) == 38 + 19
    assert len(await bench.published(bench.topics.requests)) == 1
    refused = await bench.database.fetch("select thread_id, topic, dedupe, reason from outbox_refused")
    assert [(row["thread_id"], row["topic"], row["dedupe"]) for row in refused] == [("thread-1", "turns.events", "3")]
    assert "MessageSizeTooLarge" in refused[0]["reason"]


async def test_a_large_turn_of_small_events_goes_out_whole(bench: Bench) -> None:
    """Larger than a batch, each record within the limit: cut between records, in order."""
    await bench.insert([Turn(1, 1, 9, size=200_000), Turn(1, 10, 1), Turn(2, 1, 3, size=600_000)])
    async with bench.relay() as relay:
        await relay.ready()
        await bench.until_waiting(0)
    assert await bench.sequences() == {"thread-1": list(range(1, 11)), "thread-2": [1, 2, 3]}


async def test_a_batch_that_is_too_large_as_a_whole_is_sent_in_parts(bench: Bench) -> None:
    """A refusal falls on the record that earns it, and here none does."""
    await bench.limit_events(_LIMIT)
    await bench.insert(turns_of(range(20), turns=2, count=3, size=3_000))
    async with bench.relay() as relay:
        await relay.ready()
        await bench.until_waiting(0)
    assert await bench.sequences() == {f"thread-{thread}": [1, 2, 3, 4, 5, 6] for thread in range(20)}
    assert await bench.database.fetchval("select count(*) from outbox_refused") == 0


async def test_a_row_whose_turn_is_gone_is_refused_and_the_others_go_on(bench: Bench) -> None:
    await bench.database.execute(
        """insert into outbox (shard, thread_id, topic, dedupe, first_sequence, record_count, turn_id)
           values (1, 'thread-1', 'turns.events', '1', 1, 2, 'turn-1')"""
    )
    await bench.insert_committed(Turn(1, 3, 2))
    await bench.insert_committed(Turn(2, 1, 2))
    async with bench.relay() as relay:
        await relay.ready()
        await bench.until_waiting(2)
    assert await bench.sequences() == {"thread-2": [1, 2]}
    assert await bench.database.fetchval("select reason from outbox_refused") == "the turn that it points at is gone"


async def test_missing_events_are_waited_for_and_then_said_aloud(bench: Bench) -> None:
    """A gap can not come from a commit; should it be there all the same, readers must see it rather than silence."""
    await bench.insert([Turn(1, 1, 2)])
    async with bench.relay() as relay:
        port = await relay.ready()
        await bench.until_waiting(0)
        await bench.insert([Turn(1, 5, 1), Turn(65, 1, 1)])
        await bench.until_waiting(1)
        assert await bench.sequences() == {"thread-1": [1, 2], "thread-65": [1]}
        await bench.insert([Turn(1, 3, 2)])  # a higher id than what follows it
        await bench.until_waiting(0)
        metrics = (await relay.get(port, "/metrics")).text
    assert "intention_relay_sequence_gaps_total 1.0" in metrics
    assert (await bench.sequences())["thread-1"] == [1, 2, 5, 3, 4]
