"""FAN-7's compiled agent and its scripted model, in this process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from intention_kernel.contracts.json_codec import JsonValue

from examples.fan7.application import application
from examples.fan7.model import HELP
from tests.fan7.talking import Talk

RESERVE = "reserve 2 FILTER-A for FAN-7"
CONFIRM = "Please confirm before I go on: the reservation of 2 FILTER-A (sku: FILTER-A; quantity: 2)"
DONE = "Reserved 2 FILTER-A (RES-1).\n\nWrote work order WO-2."


def test_the_application_holds_the_program_first_and_the_compiled_agent() -> None:
    assert [agent.id for agent in application.agents] == ["fan7", "fan7-agent"]
    assert application.gateway is not None


@pytest.mark.parametrize("yes", ["yes", "Yes!", "ok", "go ahead."])
async def test_an_approved_reservation_is_made_and_its_work_order_follows(yes: str) -> None:
    talk = Talk()
    assert await talk.say(f"Please {RESERVE}, thank you") == CONFIRM
    assert not talk.inventory.reserved
    assert await talk.say(yes) == DONE


async def test_a_turn_without_doubt_asks_two_models_and_a_typed_yes_one_reviewer_more() -> None:
    talk = Talk()
    await talk.say(RESERVE)
    assert [request.task for request in talk.model.requests] == ["capability.select", "turn.interpret"]
    await talk.say("yes")
    assert [request.task for request in talk.model.requests[2:]] == [
        "capability.select",
        "turn.interpret",
        "interaction-answer.review",
    ]


async def test_a_no_writes_nothing_and_may_be_followed_by_a_new_request() -> None:
    talk = Talk()
    await talk.say(RESERVE)
    assert await talk.say("no") == f"Not done, as you said: {RESERVE}"
    assert not talk.inventory.reserved
    assert await talk.say(RESERVE) == CONFIRM
    assert await talk.say("yes") == DONE


async def test_a_question_is_answered_while_the_confirmation_stays_open() -> None:
    talk = Talk()
    await talk.say(RESERVE)
    assert await talk.say("how many GIZMO-7?") == f"There is no part GIZMO-7.\n\n{CONFIRM}"
    assert await talk.say("yes") == DONE
    assert await talk.say("how many FILTER-A are there?") == "There are 2 FILTER-A in stock."


async def test_a_work_order_without_a_reservation_asks_for_one_and_follows_it() -> None:
    talk = Talk()
    assert "reservation" in await talk.say("write the work order")
    assert await talk.say(RESERVE) == CONFIRM
    assert await talk.say("yes") == DONE
    assert await talk.say("write the work order") == "FAN-7 has its work order, WO-2."


async def test_another_quantity_is_refused_as_an_issue() -> None:
    talk = Talk()
    await talk.say(RESERVE)
    await talk.say("yes")
    await talk.say("reserve 1 FILTER-A for FAN-7")
    assert await talk.say("yes") == "FAN-7 already has a reservation with another content. Nothing was changed."


async def test_the_work_order_waits_for_an_outcome_that_has_to_be_found_out() -> None:
    talk = Talk()
    talk.inventory.loses = True
    await talk.say(RESERVE)
    blocked = await talk.turn("yes")
    assert blocked.status == "blocked"
    found: JsonValue = dict(talk.inventory.reserved["inventory.reserve:FAN-7"])  # type: ignore[arg-type]  # it is JSON
    await talk.durability.settle(blocked.blocked_on[0], "applied", found)
    assert await talk.go_on() == [DONE]


@pytest.mark.parametrize("text", ["hello", "yes", "no"])
async def test_small_talk_is_answered_and_a_yes_to_nothing_does_nothing(text: str) -> None:
    talk = Talk()
    assert await talk.say(text) == (HELP if text == "hello" else "All right.")
    assert not talk.inventory.reserved


def test_models_are_asked_the_same_byte_for_byte_in_every_process() -> None:
    """R17: a retry in another process replays the journal, which knows requests by their bytes."""
    said = {
        subprocess.run(
            [sys.executable, "-m", "tests.fan7.talking"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
    assert len(next(iter(said)).split()) > 10
