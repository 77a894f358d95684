"""A history recorded from real servers: healthy as it is, whole after a round through a file, sick once a row is missing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from intention_kernel.contracts.turn_request import TurnRequest, encode_turn_request
from intention_kernel.history.check import check_history
from intention_kernel.history.saved import load_history, save_history
from intention_kernel.history.values import Applied, History, Sent
from intention_kernel.testing.recorder import record_history
from intention_kernel.testing.system import Installation, System, open_system

from examples.fan7.inventory_store import InventoryStore
from tests.support.fan7 import Inventory, installation_of, request, running_inventory
from tests.support.servers import SharedServers


async def test_a_recorded_history_is_healthy_and_sick_without_one_of_its_rows(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    """A lost reply, a continuation, a conflict, bytes that are no request: FAN-7 over Postgres and Kafka."""
    async with running_inventory(tmp_path) as inventory:
        place = inventory.beside(installation_of(servers, fresh_database, topic_prefix))
        history = await _play(inventory, place, tmp_path / "inventory.sqlite")
    assert check_history(history) == []
    assert {len(history.rejected), len(history.rejections)} == {2}
    assert any(turn.turn_id.startswith("reconciliation:") for turn in history.turns)

    file = tmp_path / "history.jsonl"
    save_history(history, file)
    assert load_history(file) == history
    assert _told(file) == (0, "")

    for sick in _without_a_row(history):
        assert check_history(sick) != []
    save_history(replace(history, turns=history.turns[1:]), file)
    code, told = _told(file)
    assert code == 1
    assert "revisions: job has revision 3" in told


async def _play(inventory: Inventory, place: Installation, database: Path) -> History:
    asked = inventory.conversation
    await inventory.lose_next_reply()
    other = request(asked.after.thread_id, asked.after.turn_id, "something else")
    async with open_system(place) as system:
        sent = [await _send(system, one) for one in (*asked.requests, other, asked.after)]
        bad = await system.broker.send(system.topics.requests, b"job", b"{no")
        sent.append(Sent(b"job", b"{no", (bad.partition, bad.offset), good=False))
        processes = [await system.start_runner(), await system.start_relay(), await system.start_reconciler()]
        await system.await_quiet(asked.requests)
        for process in processes:
            process.terminate()
            assert await process.await_end() == 0, process.output()
        with InventoryStore(database) as store:
            ledger = [Applied("job", entry.key, entry.reference) for entry in store.ledger()]
        return await record_history(system, sent, ledger)


async def _send(system: System, asked: TurnRequest) -> Sent:
    place = await system.send(asked)
    return Sent(asked.thread_id.encode(), encode_turn_request(asked), (place.partition, place.offset))


def _without_a_row(history: History) -> list[History]:
    names = ("turns", "events", "rejected", "rejections", "heads", "receipts", "moves", "items", "ledger", "requests")
    return [replace(history, **{name: getattr(history, name)[:-1]}) for name in names]


def _told(file: Path) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, "-m", "intention_kernel.history", str(file)], capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout
