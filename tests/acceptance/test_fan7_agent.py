"""FAN-7 by the compiled agent: the intent is approved first, then the same acceptance as the Program's, word by word.

Four ways to find out what became of the reservation, each on a fresh inventory with FILTER-A = 4, and one death in between.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from intention_kernel.client import Committed
from intention_kernel.testing.aftermath import check_aftermath
from intention_kernel.testing.crash_points import PROVIDER_POINT, kill_runner_while_provider_is_silent
from intention_kernel.testing.processes import Process, script
from intention_kernel.testing.system import Installation

from examples.fan7.inventory_client import InventoryConflict
from tests.support.fan7 import WORK_ORDER_KEY, installation_of, running_inventory
from tests.support.fan7_agent import (
    PATIENCE_SECONDS,
    RECEIPT_ID,
    RESERVATION_KEY,
    RESERVE,
    THREAD,
    ApprovedWorld,
    Bench,
    Result,
    agent_bench,
    message,
    propose,
    question,
    with_agent,
)
from tests.support.servers import SharedServers

CONFIRM = "Please confirm before I go on: the reservation of 2 FILTER-A (sku: FILTER-A; quantity: 2)"
DONE = "Reserved 2 FILTER-A (RES-000001).\n\nWrote work order WO-000002."


@pytest.fixture
async def place(servers: SharedServers, fresh_database: str, topic_prefix: str) -> Installation:
    """A migrated database and a topic prefix of this test alone."""
    return installation_of(servers, fresh_database, topic_prefix)


async def approve(bench: Bench) -> Result:
    """Propose, see that nothing is written, click yes: what became of it."""
    asked = await bench.say("propose", RESERVE)
    assert (asked["status"], message(asked)) == ("completed", CONFIRM)
    assert bench.inventory.stock() == 4
    assert not bench.inventory.calls()
    click = {"interactionId": question(asked)["id"], "optionId": "yes"}
    return await bench.say("yes", "Yes", click=click)


async def approve_and_lose_the_answer(bench: Bench) -> None:
    """The reservation happened, nobody here knows; the user is told the truth and the conversation is not blocked."""
    blocked = await approve(bench)
    assert blocked["status"] == "blocked"
    assert blocked["blockedOn"] == [RECEIPT_ID]
    assert "could not confirm whether the reservation of 2 FILTER-A went through" in message(blocked)
    await check_unknown(bench)
    for thread_id in (THREAD, "another"):
        answer = await bench.say("unrelated", "How many are left?", thread_id)
        assert message(answer) == "There are 2 FILTER-A in stock."
    await check_unknown(bench)


async def check_unknown(bench: Bench) -> None:
    """Stock 4 → 2, one reservation, its receipt uncertain; the work order is in hand and not written."""
    assert bench.inventory.stock() == 2
    assert bench.inventory.calls() == [RESERVATION_KEY]
    assert await bench.receipt_state() == "uncertain"
    checkpoint = await bench.checkpoint()
    assert not checkpoint["facts"]
    in_hand = [(item["capabilityId"], item["status"]) for item in cast("list[Result]", checkpoint["agenda"])]
    assert in_hand == [("inventory.reserve", "blocked"), ("inventory.work_order", "waiting_facts")]


async def check_settled(bench: Bench) -> None:
    """The continuation published the reservation and wrote the work order; all is in order."""
    await bench.system.await_quiet(bench.asked)
    assert await bench.receipt_state() == "completed"
    turn_id = f"reconciliation:{RECEIPT_ID}:1:1"
    outcome = await bench.client.outcome(THREAD, turn_id, PATIENCE_SECONDS)
    assert isinstance(outcome, Committed)
    assert message(cast("Result", outcome.result)) == DONE
    await check_done(bench, turn_id)
    types = [event["type"] for event in await bench.events(turn_id)]
    told = [kind for kind in types if kind in ("turn.started", "dependency.consumer.resumed", "facts.reduced")]
    assert told == ["turn.started", "dependency.consumer.resumed", "facts.reduced"]
    assert types[-1] == "turn.completed"
    assert "model.invoked" not in types
    await check_conflict(bench)


async def check_done(bench: Bench, turn_id: str) -> None:
    """One reservation, one work order, both facts with their lineage, nothing left in hand."""
    await check_one_of_each(bench)
    checkpoint = await bench.checkpoint()
    facts = cast("dict[str, Result]", checkpoint["facts"])
    assert set(facts) == {"reservation@1", "workOrder@1"}
    assert cast("Result", facts["reservation@1"]["value"])["reference"] == "RES-000001"
    assert cast("Result", facts["workOrder@1"]["value"])["reference"] == "WO-000002"
    assert cast("list[Result]", facts["workOrder@1"]["dependsOn"])[0]["type"] == "reservation"
    assert {cast("Result", fact["producedBy"])["turnId"] for fact in facts.values()} == {turn_id}
    assert not checkpoint["agenda"]


async def check_conflict(bench: Bench) -> None:
    """Another quantity under the job's key is asked for, approved, and refused as an issue: nothing changes."""
    asked = await bench.say("reserve-one", "reserve 1 FILTER-A for FAN-7")
    assert message(asked).endswith("the reservation of 1 FILTER-A (sku: FILTER-A; quantity: 1)")
    refused = await bench.say("yes-one", "yes")
    assert message(refused) == "FAN-7 already has a reservation with another content. Nothing was changed."
    with pytest.raises(InventoryConflict):
        await bench.inventory.client.reserve(RESERVATION_KEY, "FILTER-A", 1)
    await check_one_of_each(bench)
    await bench.system.await_quiet(bench.asked)
    await check_aftermath(bench.system, bench.asked)


async def check_one_of_each(bench: Bench) -> None:
    assert await bench.inventory.ledger() == [RESERVATION_KEY, WORK_ORDER_KEY]
    assert bench.inventory.stock() == 2


async def test_an_approved_reservation_is_made_once_and_its_work_order_follows(
    place: Installation, tmp_path: Path
) -> None:
    """Nothing goes wrong: the yes makes both, under the id of the turn that said it."""
    async with agent_bench(place, tmp_path) as bench:
        assert message(await approve(bench)) == DONE
        await check_done(bench, "yes")
        assert bench.inventory.calls() == [RESERVATION_KEY, WORK_ORDER_KEY]
        await check_conflict(bench)


async def test_a_no_writes_nothing_and_an_unrelated_question_leaves_the_confirmation_open(
    place: Installation, tmp_path: Path
) -> None:
    """Consent is neither lost nor assumed."""
    async with agent_bench(place, tmp_path) as bench:
        await bench.say("propose", RESERVE)
        answer = await bench.say("unrelated", "how many FILTER-A are there?")
        assert message(answer) == f"There are 4 FILTER-A in stock.\n\n{CONFIRM}"
        assert message(await bench.say("no", "no")) == f"Not done, as you said: {RESERVE}"
        await bench.say("late", "yes")
        assert not bench.inventory.calls()
        await bench.system.await_quiet(bench.asked)
        await check_aftermath(bench.system, bench.asked)


async def test_an_approved_lost_answer_is_found_by_lookup(place: Installation, tmp_path: Path) -> None:
    """R16, R23, R28, R30: the resolver asks the inventory by key, and every step that was blocked on it goes on."""
    async with agent_bench(place, tmp_path) as bench:
        await bench.inventory.lose_next_reply()
        await approve_and_lose_the_answer(bench)
        await bench.system.start_reconciler()
        await check_settled(bench)


async def test_an_approved_lost_answer_is_got_by_repeating_the_identical_call(
    place: Installation, tmp_path: Path
) -> None:
    """R26: the inventory certifies that the repeat is the same effect, and answers with the same receipt."""
    async with agent_bench(place, tmp_path, "retry") as bench:
        await bench.inventory.lose_next_reply()
        await approve_and_lose_the_answer(bench)
        await bench.system.start_reconciler()
        await check_settled(bench)
        assert len(await bench.system.fetch("select from decisions")) == 1


async def test_an_approved_answer_that_could_not_be_recorded_is_found_again(
    place: Installation, tmp_path: Path
) -> None:
    """R14, R18: the reply arrived and writing `completed` failed in our store; nobody calls a second time."""
    async with agent_bench(place, tmp_path, runner_failpoints="runner.after_reply=error") as bench:
        await approve_and_lose_the_answer(bench)
        await bench.system.start_reconciler()
        await check_settled(bench)
        assert bench.inventory.calls() == [RESERVATION_KEY, WORK_ORDER_KEY, RESERVATION_KEY]


async def test_an_approved_lost_answer_is_decided_by_an_operator(place: Installation, tmp_path: Path) -> None:
    """R22, R23: nothing is settled until a person has looked and says so with the value."""
    async with agent_bench(place, tmp_path, "operator") as bench:
        await bench.inventory.lose_next_reply()
        await approve_and_lose_the_answer(bench)
        await bench.system.start_reconciler()
        await bench.system.await_rows(
            "select from reconciliation_items where phase = 'open' and reason like 'needs a person%'"
        )
        await check_unknown(bench)
        found = await bench.inventory.client.find_reservation(RESERVATION_KEY)
        assert found is not None
        value = ["--applied", "--value", json.dumps(found), "--reference", found["reference"]]
        reason = ["--reason", "the inventory's own list shows it", "--as", "mara"]
        command = [str(script("intention")), "queue", "resolve", RECEIPT_ID, *value, *reason]
        async with await Process.start("intention", command, bench.installation.variables()) as resolving:
            assert await resolving.await_end() == 0, resolving.output()
        await check_settled(bench)


async def test_a_runner_killed_between_the_inventorys_commit_and_its_reply_keeps_the_consent(
    place: Installation, tmp_path: Path
) -> None:
    """R15, R22, R29: the yes is carried out once: found by lookup, and followed by its work order, whoever goes on with it."""
    async with running_inventory(tmp_path, failpoints=f"{PROVIDER_POINT}=stop") as inventory:
        installation = inventory.beside(with_agent(place))
        await propose(installation)
        assert inventory.stock() == 4
        await kill_runner_while_provider_is_silent(ApprovedWorld(inventory), installation)
        assert inventory.stock() == 2
