"""`intention events`: each event once, holes told, bytes kept (protocol R37)."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from intention_kernel.client import Client, Event, Gap
from intention_kernel.client.order import ThreadOrder
from intention_kernel.contracts.json_codec import loads

from tests.cli.invoking import environment, intention_beside
from tests.cli.topics import stage
from tests.support.servers import SharedServers


async def test_repeats_are_dropped_and_a_hole_is_told_and_holds_the_thread_back(
    servers: SharedServers, topic_prefix: str
) -> None:
    """R37: readers accept only last + 1 and report a gap."""
    async with stage(servers.kafka_bootstrap_servers, topic_prefix) as played:
        env = environment(bootstrap=played.bootstrap, prefix=topic_prefix)
        # A relay that died before its delete sends 1 and 2 again; 3 never comes.
        values = [await played.event("a", "t", sequence, data=[2**70]) for sequence in (1, 2, 1, 2)][:2]
        for sequence in (4, 5):
            await played.event("a", "t", sequence)
        other = await played.event("b", "t", 1)
        said = await intention_beside("events", "--thread", "a", "-o", "jsonl", env=env)
        assert said.code == 1
        assert [line.encode() for line in said.lines] == values
        assert said.err.count("gap: thread a: 3 is missing, 4 came") == 1
        both = await intention_beside("events", "--from-beginning", "-o", "json", env=env)
        assert loads(other) in loads(both.out)  # type: ignore[operator]
        await played.event("a", "t", 3)
        await played.event("a", "t", 4)
        filled = await intention_beside("events", "--thread", "a", env=env)
        assert filled.code == 0
        assert [line.split("  ")[2] for line in filled.lines] == ["1", "2", "3", "4"]


async def test_follow_shows_what_comes_from_now_on(servers: SharedServers, topic_prefix: str) -> None:
    async with stage(servers.kafka_bootstrap_servers, topic_prefix) as played:
        await played.event("a", "old", 1)
        async with Client(played.bootstrap, topic_prefix) as client, aclosing(client.events("a")) as feed:
            coming = asyncio.ensure_future(anext(feed))
            # The feed begins where the topic ends when it is opened; whatever it misses before is not its business.
            sequence = 1
            while not coming.done():
                sequence += 1
                await played.event("a", "new", sequence)
                await asyncio.wait({coming}, timeout=0.2)
            event = coming.result()
            assert isinstance(event, Event)
            assert event.turn_id == "new"


async def test_json_that_never_ends_is_refused() -> None:
    said = await intention_beside("events", "--follow", "-o", "json", env=environment(bootstrap="127.0.0.1:1"))
    assert said.code == 2


def test_a_reader_from_the_middle_takes_the_first_it_sees() -> None:
    """R37: one that starts in the middle may first see old duplicates."""
    order = ThreadOrder(from_the_first=False)
    assert [order.judge("a", sequence, "i") for sequence in (7, 8, 7, 9)] == ["next", "next", "old", "next"]


def test_a_reader_from_the_start_expects_one() -> None:
    assert ThreadOrder(from_the_first=True).judge("a", 2, "i") == Gap("a", 1, 2)


def test_a_new_incarnation_may_go_on_above_the_last_sequence() -> None:
    """R39: after a restore sequences go on above the topic's last."""
    order = ThreadOrder(from_the_first=True)
    assert [order.judge("a", *seen) for seen in ((1, "i"), (50, "j"), (51, "j"), (2, "i"))] == [
        "next",
        "next",
        "next",
        "old",
    ]
