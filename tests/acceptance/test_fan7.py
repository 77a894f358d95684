"""FAN-7, word by word: an answer is lost, nothing is guessed, nothing is called twice, the conversation goes on.

Four ways to find out what became of the reservation, each on a fresh inventory with FILTER-A = 4.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from intention_kernel.client import Client, Committed
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.turn_request import TurnRequest
from intention_kernel.ids import receipt_id
from intention_kernel.testing.aftermath import check_aftermath
from intention_kernel.testing.processes import clean_environment, script
from intention_kernel.testing.system import Installation, System, open_system

from examples.fan7.inventory_client import InventoryConflict
from tests.support.fan7 import (
    RESERVATION_KEYS,
    WORK_ORDER_KEY,
    Inventory,
    installation_of,
    request,
    running_inventory,
)
from tests.support.servers import SharedServers

THREAD = "job"
PATIENCE_SECONDS = 30.0


@dataclass(slots=True)
class Bench:
    """One run: an inventory, the three processes' system, a client, and what was asked so far."""

    inventory: Inventory
    installation: Installation
    system: System
    client: Client
    settled_by: str
    asked: list[TurnRequest]

    @property
    def reservation_key(self) -> str:
        return RESERVATION_KEYS[self.settled_by]

    @property
    def receipt_id(self) -> str:
        return receipt_id(THREAD, self.reservation_key)

    async def say(self, turn_id: str, text: str, thread_id: str = THREAD) -> dict[str, JsonValue]:
        """Send a turn and wait: the data of its `turn.completed`."""
        asked = request(thread_id, turn_id, text, self.settled_by)
        self.asked.append(asked)
        async with self.client.sending(asked) as waiting:
            outcome = await waiting.outcome(PATIENCE_SECONDS)
        assert isinstance(outcome, Committed), outcome
        assert isinstance(outcome.result, dict)
        return outcome.result

    async def receipt_state(self) -> str:
        (row,) = await self.system.fetch("select state from receipts where effect_key = $1", self.reservation_key)
        state: str = row["state"]
        return state


def message(result: dict[str, JsonValue]) -> str:
    """What the user reads."""
    response = result["response"]
    assert isinstance(response, dict)
    return str(response["message"])


@asynccontextmanager
async def fan7(
    place: Installation, directory: Path, settled_by: str, runner_failpoints: str = ""
) -> AsyncIterator[Bench]:
    """The runner and the relay work; nobody reconciles yet."""
    async with AsyncExitStack() as stack:
        inventory = await stack.enter_async_context(running_inventory(directory, settled_by=settled_by))
        installation = inventory.beside(place)
        system = await stack.enter_async_context(open_system(installation))
        client = await stack.enter_async_context(Client(place.kafka_bootstrap_servers, place.topic_prefix))
        await system.start_runner(runner_failpoints)
        await system.start_relay()
        yield Bench(inventory, installation, system, client, settled_by, [])


@pytest.fixture
async def place(servers: SharedServers, fresh_database: str, topic_prefix: str) -> Installation:
    """A migrated database and a topic prefix of this test alone."""
    return installation_of(servers, fresh_database, topic_prefix)


async def reserve_and_lose_the_answer(bench: Bench) -> None:
    """The reservation happened, nobody here knows; the user is told the truth and the conversation is not blocked."""
    blocked = await bench.say("reserve-two", "reserve 2 FILTER-A for FAN-7")
    assert blocked["status"] == "blocked"
    assert blocked["blockedOn"] == [bench.receipt_id]
    assert "could not confirm whether the reservation of 2 FILTER-A went through" in message(blocked)
    assert bench.receipt_id in message(blocked)
    await check_unknown(bench)
    for thread_id in (THREAD, "another"):
        answer = await bench.say("unrelated", "How many are left?", thread_id)
        assert answer["status"] == "completed"
        assert message(answer) == "There are 2 FILTER-A in stock."
    await check_unknown(bench)


async def check_unknown(bench: Bench) -> None:
    """Stock 4 → 2, one reservation, its receipt uncertain, no work order."""
    assert bench.inventory.stock() == 2
    assert await bench.inventory.ledger() == [bench.reservation_key]
    assert await bench.receipt_state() == "uncertain"


async def check_settled(bench: Bench) -> None:
    """The continuation wrote the work order; another quantity under the key changes nothing; all is in order."""
    await bench.system.await_quiet(bench.asked)
    assert await bench.receipt_state() == "completed"
    (row,) = await bench.system.fetch("select turn_id from turns where turn_id like 'reconciliation:%'")
    assert row["turn_id"] == f"reconciliation:{bench.receipt_id}:1:1"
    outcome = await bench.client.outcome(THREAD, row["turn_id"], PATIENCE_SECONDS)
    assert isinstance(outcome, Committed)
    assert isinstance(outcome.result, dict)
    assert message(outcome.result) == "Reserved 2 FILTER-A (RES-000001) and wrote work order WO-000002."

    await check_one_reservation(bench)
    refused = await bench.say("reserve-one", "reserve 1 FILTER-A for FAN-7")
    assert "already has a reservation with another content" in message(refused)
    with pytest.raises(InventoryConflict):
        await bench.inventory.client.reserve(bench.reservation_key, "FILTER-A", 1)
    await check_one_reservation(bench)
    await bench.system.await_quiet(bench.asked)
    await check_aftermath(bench.system, bench.asked)


async def check_one_reservation(bench: Bench) -> None:
    assert await bench.inventory.ledger() == [bench.reservation_key, WORK_ORDER_KEY]
    assert bench.inventory.stock() == 2


async def observations(bench: Bench) -> list[tuple[str, str]]:
    rows = await bench.system.fetch(
        "select source, finding from observations where effect_key = $1 order by id", bench.reservation_key
    )
    return [(row["source"], row["finding"]) for row in rows]


async def test_a_lost_answer_is_found_by_lookup(place: Installation, tmp_path: Path) -> None:
    """R16, R23, R28, R30, R32: first run, the resolver asks the inventory by key."""
    async with fan7(place, tmp_path, "lookup") as bench:
        await bench.inventory.lose_next_reply()
        await reserve_and_lose_the_answer(bench)
        await bench.system.start_reconciler()
        await check_settled(bench)
        assert ("lookup", "found") in await observations(bench)


async def test_a_lost_answer_is_got_by_repeating_the_identical_call(place: Installation, tmp_path: Path) -> None:
    """R26: second run, the inventory certifies that the repeat is the same effect, and answers with the same receipt."""
    async with fan7(place, tmp_path, "retry") as bench:
        await bench.inventory.lose_next_reply()
        await reserve_and_lose_the_answer(bench)
        await bench.system.start_reconciler()
        await check_settled(bench)
        rows = await bench.system.fetch("select value from decisions")
        assert len(rows) == 1


async def test_an_answer_that_could_not_be_recorded_is_found_again(place: Installation, tmp_path: Path) -> None:
    """R14, R18: third run, the reply arrived and writing `completed` failed in our store; nobody calls a second time."""
    async with fan7(place, tmp_path, "lookup", "runner.after_reply=error") as bench:
        await reserve_and_lose_the_answer(bench)
        await bench.system.start_reconciler()
        await check_settled(bench)
        assert ("lookup", "found") in await observations(bench)


async def test_a_lost_answer_is_decided_by_an_operator(place: Installation, tmp_path: Path) -> None:
    """R22, R23: fourth run, nothing is settled until a person has looked and says so with the value."""
    async with fan7(place, tmp_path, "operator") as bench:
        await bench.inventory.lose_next_reply()
        await reserve_and_lose_the_answer(bench)
        await bench.system.start_reconciler()
        await bench.system.await_rows(
            "select from reconciliation_items where phase = 'open' and reason like 'needs a person%'"
        )
        await check_unknown(bench)
        found = await bench.inventory.client.find_reservation(bench.reservation_key)
        assert found is not None
        await intention(
            bench.installation,
            "queue",
            "resolve",
            bench.receipt_id,
            "--applied",
            "--value",
            json.dumps(found),
            "--reference",
            found["reference"],
            "--reason",
            "the inventory's own list shows it",
            "--as",
            "mara",
        )
        await check_settled(bench)
        (decision,) = await bench.system.fetch("select actor, resolution from decisions")
        assert (decision["actor"], decision["resolution"]) == ("mara", "applied")


async def intention(installation: Installation, *arguments: str) -> str:
    """Run the command; what it prints."""
    process = await asyncio.create_subprocess_exec(
        script("intention"),
        *arguments,
        env=clean_environment(installation.variables()),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode()
