"""The shop as a process: replies that are lost, kills between commit and reply, many worlds at once."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
from pathlib import Path

import httpx
import pytest
from pydantic import JsonValue

from examples.retail.conversations import Action, Conversation, load_conversations
from examples.retail.records import EXTRACT
from examples.retail.records_comparison import differences
from examples.retail.rules.operations import OPERATIONS, Write
from examples.retail.shop_client import ShopClient, ShopConflict, ShopRefused, ShopUnavailable
from tests.retail.shop_process import COMMAND, running_shop

CONVERSATIONS = [
    *load_conversations(EXTRACT / "conversations.json"),
    *load_conversations(EXTRACT / "conversations_with_reads.json"),
]
_MOST_ATTEMPTS = 60


def a_cancellation() -> tuple[str, dict[str, JsonValue]]:
    actions = [action for one in CONVERSATIONS for action in one["actions"]]
    found = next(one for one in actions if one["name"] == "cancel_pending_order" and one["error"] is None)
    return found["name"], found["kwargs"]


NAME, KWARGS = a_cancellation()


async def test_a_dropped_reply_leaves_the_write_applied_once(tmp_path: Path) -> None:
    async with running_shop(tmp_path / "shop.sqlite") as (_, shop):
        await shop.turn_faults({"dropReply": {"count": 1}})
        with pytest.raises(httpx.TransportError):
            await shop.write("a", "k", NAME, KWARGS)
        found = await shop.find("a", "k")
        assert await shop.write("a", "k", NAME, KWARGS) == found
        assert len(await shop.ledger()) == 1


async def test_a_write_that_waits_is_applied_though_its_client_has_gone(tmp_path: Path) -> None:
    async with running_shop(tmp_path / "shop.sqlite") as (_, shop):
        await shop.turn_faults({"delay": {"count": 1, "seconds": 3.0}})
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await shop.write("a", "k", NAME, KWARGS)
        assert await shop.find("a", "k") is None
        async with asyncio.timeout(30):
            while (await shop.find("a", "k")) is None:
                continue


async def test_a_process_killed_between_commit_and_reply_has_written_once(tmp_path: Path) -> None:
    database = tmp_path / "shop.sqlite"
    async with running_shop(database, failpoints="provider.after_commit=kill") as (process, shop):
        with pytest.raises(httpx.TransportError):
            await shop.write("a", "k", NAME, KWARGS)
        assert await process.await_end() == -9
    async with running_shop(database) as (_, shop):
        assert await shop.find("a", "k") is not None
        await shop.write("a", "k", NAME, KWARGS)
        assert [entry["key"] for entry in await shop.ledger()] == ["k"]


async def test_the_client_tells_refusals_conflicts_outages_and_absence_apart(tmp_path: Path) -> None:
    async with running_shop(tmp_path / "shop.sqlite") as (_, shop):
        with pytest.raises(ShopRefused) as refused:
            await shop.write("a", "k", NAME, {**KWARGS, "reason": "too dear"})
        assert refused.value.code == "reason_not_allowed"
        await shop.turn_faults({"refuse": {"count": 1}})
        with pytest.raises(ShopUnavailable):
            await shop.write("a", "k", NAME, KWARGS)
        assert await shop.find("a", "k") is None
        await shop.write("a", "k", NAME, KWARGS)
        with pytest.raises(ShopConflict):
            await shop.write("a", "k", NAME, {**KWARGS, "order_id": "#W0"})
        with pytest.raises(httpx.HTTPStatusError):
            await shop.write("a", "k", "delete_order", {})


async def test_identical_requests_at_the_same_moment_write_once(tmp_path: Path) -> None:
    async with running_shop(tmp_path / "shop.sqlite") as (_, shop):
        outcomes = await asyncio.gather(*(shop.write("a", "k", NAME, KWARGS) for _ in range(20)))
        assert len({outcome["reference"] for outcome in outcomes}) == 1
        assert len(await shop.ledger()) == 1


async def test_all_conversations_at_once_under_every_fault_end_in_their_expected_changes(tmp_path: Path) -> None:
    """Each repeats a write under its key until it is answered: whatever got lost, every effect happened once."""
    faults: dict[str, JsonValue] = {
        name: {"probability": 0.15} for name in ("refuse", "failBeforeCommit", "failAfterCommit", "dropReply")
    }
    delay: dict[str, JsonValue] = {"probability": 0.15, "seconds": 0.02}
    async with running_shop(tmp_path / "shop.sqlite") as (_, shop):
        answer = await shop.turn_faults({**faults, "delay": delay, "seed": 7})
        await asyncio.gather(*(_play(shop, conversation) for conversation in CONVERSATIONS))
        for conversation in CONVERSATIONS:
            assert not differences(conversation["expected_changes"], await shop.changes(conversation["id"]))
        ledger = await shop.ledger()
        answer = await shop.turn_faults({})
    expected = [(one["id"], str(place)) for one in CONVERSATIONS for place in _applied_places(one)]
    assert sorted((entry["world"], entry["key"]) for entry in ledger) == sorted(expected)
    assert isinstance(answer["struck"], dict)
    assert set(answer["struck"]) == {*faults, "delay"}


def _applied_places(conversation: Conversation) -> list[int]:
    actions = enumerate(conversation["actions"])
    return [place for place, action in actions if action["write"] and action["error"] is None]


async def _play(shop: ShopClient, conversation: Conversation) -> None:
    for place, action in enumerate(conversation["actions"]):
        refused = await _refused(shop, conversation["id"], str(place), action)
        assert refused == (action["error"] is not None), (conversation["id"], place)


async def _refused(shop: ShopClient, world: str, key: str, action: Action) -> bool:
    for _ in range(_MOST_ATTEMPTS):
        try:
            if isinstance(OPERATIONS[action["name"]], Write):
                await shop.write(world, key, action["name"], action["kwargs"])
            else:
                await shop.read(world, action["name"], action["kwargs"])
        except ShopRefused:
            return True
        except (ShopUnavailable, httpx.HTTPError):
            continue
        return False
    raise AssertionError(f"no answer to {world} {key} in {_MOST_ATTEMPTS} attempts")


async def test_sigterm_ends_the_process_in_order(tmp_path: Path) -> None:
    async with running_shop(tmp_path / "shop.sqlite") as (process, shop):
        await shop.ledger()
        process.terminate()
        assert await process.await_end() == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--database", "{folder}/missing/shop.sqlite"], "--database"),
        (["--database", "{folder}/shop.sqlite", "--data", "{folder}"], "users.json"),
        (["--database", "{folder}/other.sqlite"], "--database"),
    ],
)
def test_a_setting_that_cannot_work_is_named(tmp_path: Path, arguments: list[str], named: str) -> None:
    (tmp_path / "other.sqlite").write_bytes(b"not a database" * 100)
    command = [*COMMAND, *(argument.format(folder=tmp_path) for argument in arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert named in ended.stderr


def test_a_database_of_other_records_is_refused(tmp_path: Path) -> None:
    database = tmp_path / "shop.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE files (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL)")
        connection.execute("INSERT INTO files VALUES (1, 'other')")
    connection.close()
    ended = subprocess.run([*COMMAND, "--database", database], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, "other records" in ended.stderr) == (2, True)
