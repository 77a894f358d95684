"""Customers' messages, their markers, and the scripted model that goes by nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from intention_kernel.agent import ModelGatewayError
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ConfigurationError

from examples.retail.conversations import Conversation, load_conversations
from examples.retail.records import EXTRACT
from examples.retail.rules.operations import OPERATIONS
from examples.retail.script import HELP, RetailModel, script_files
from examples.retail.script_turns import turns_of
from examples.retail.words import NO, YES, marked, read_marker, request
from tests.retail.agent_play import play, talk_of
from tests.retail.agent_shop import WatchedShop, talk_with
from tests.retail.shop_process import running_shop

PUBLISHED = load_conversations(EXTRACT / "conversations.json")
WITH_READS = load_conversations(EXTRACT / "conversations_with_reads.json")
MODEL = RetailModel(script_files(None))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes. [train-17 · 3]", ("Yes.", "train-17", 3)),
        ("Order [2] please [a b · 0]  ", ("Order [2] please", "a b", 0)),
        ("two [a · 1] [b · 2]", ("two [a · 1]", "b", 2)),
        ("[a · 1] and more", None),
        ("no number [a · x]", None),
        ("none", None),
    ],
)
def test_a_marker_is_the_end_of_a_message(text: str, expected: tuple[str, str, int] | None) -> None:
    assert read_marker(text) == expected


def test_what_is_marked_is_read_again() -> None:
    for operation in (*OPERATIONS, "unheard_of"):
        text = request(operation, {})
        assert read_marker(marked(text, "train-17", 3)) == (text, "train-17", 3)


def test_a_conversation_is_a_turn_for_each_operation_and_a_yes_for_each_write() -> None:
    for conversation in (*PUBLISHED, *WITH_READS):
        turns = turns_of(conversation)
        writes = [index for index, action in enumerate(conversation["actions"]) if action["write"]]
        assert [turn.action_index for turn in turns if turn.click is None] == list(range(len(conversation["actions"])))
        assert [turn.action_index for turn in turns if turn.click == "yes"] == writes
        assert len({turn.turn_id for turn in turns}) == len(turns)
        for turn in turns:
            found = read_marker(turn.text)
            assert found is not None
            assert found[1:] == (conversation["id"], turn.action_index)
            assert (found.said == YES) == (turn.click == "yes")


@pytest.mark.parametrize("conversation", [*PUBLISHED[::6], *WITH_READS[::3]], ids=lambda one: str(one["id"]))
async def test_a_played_conversation_ends_in_the_published_state(conversation: Conversation) -> None:
    async with WatchedShop() as shop:
        assert await play(talk_of(conversation, MODEL, shop), conversation, shop) == []


async def test_conversations_on_the_same_records_do_not_meet_in_a_real_shop(tmp_path: Path) -> None:
    async with running_shop(tmp_path / "shop.sqlite") as (_, shop):
        for world in ("one", "two"):
            for conversation in PUBLISHED[:3]:
                talk = talk_of(conversation, MODEL, shop, world=f"{world}:{conversation['id']}")
                assert await play(talk, conversation, shop) == []


async def test_a_confirmation_may_be_clicked_too_and_a_no_changes_nothing() -> None:
    conversation = PUBLISHED[0]
    async with WatchedShop() as shop:
        for turn in turns_of(conversation):
            talk = talk_of(conversation, MODEL, shop)
            if turn.click is None:
                (await talk.says(turn.text)).asks("confirmation")
                await talk.says(marked(NO, conversation["id"], turn.action_index))
                assert talk.agenda == ()
        assert shop.keys == []

        talk = talk_of(conversation, MODEL, shop)
        turns = [await (talk.clicks(t.click) if t.click else talk.says(t.text)) for t in turns_of(conversation)]
        assert [turn.models for turn in turns if turn.effects] == [()] * len(shop.keys)
        assert shop.keys


async def test_a_yes_where_nothing_is_open_does_nothing() -> None:
    async with WatchedShop() as shop:
        turn = await talk_of(PUBLISHED[0], MODEL, shop).says(marked(YES, PUBLISHED[0]["id"], 0))
        assert (turn.result.status, turn.capabilities, shop.asked) == ("completed", (), [])


async def test_a_message_without_a_marker_is_told_what_would_be_understood() -> None:
    async with WatchedShop() as shop:
        (await talk_with(MODEL, shop, "evelyn_kovacs_6742").says("Hello")).says(HELP)


@pytest.mark.parametrize("marker", [("nowhere", 0), (PUBLISHED[0]["id"], 99)])
async def test_a_marker_of_nothing_is_a_mistake_that_is_not_passed_over(marker: tuple[str, int]) -> None:
    async with WatchedShop() as shop:
        with pytest.raises(ModelGatewayError, match="MODEL_SCRIPT_MISSING"):
            await talk_with(MODEL, shop, "evelyn_kovacs_6742").says(marked("Do it.", *marker))


async def test_the_named_file_is_the_only_one_that_is_played(tmp_path: Path) -> None:
    own: JsonValue = [
        {
            "id": "mine",
            "user_id": "evelyn_kovacs_6742",
            "actions": [{"name": "calculate", "kwargs": {"expression": "2 * 3.5"}, "write": False, "error": None}],
            "expected_changes": {},
        }
    ]
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(own))
    assert script_files(str(file)) == (file,)
    (conversation,) = load_conversations(file)
    async with WatchedShop() as shop:
        talk = talk_of(conversation, RetailModel([file]), shop)
        assert await play(talk, conversation, shop) == []
        talk.turns[-1].says_exactly("2 * 3.5 = 7.00")


def test_a_file_that_is_missing_or_says_what_another_says_is_refused(tmp_path: Path) -> None:
    file = EXTRACT / "conversations.json"
    with pytest.raises(ConfigurationError, match="as another file does"):
        RetailModel([file, file])
    with pytest.raises(ConfigurationError, match="does not hold conversations"):
        RetailModel([tmp_path / "missing.json"])
