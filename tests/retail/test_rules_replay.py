"""The published conversations, played on the rules alone, end in the published state."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.retail.conversations import Conversation, load_conversations
from examples.retail.records import EXTRACT, load_records
from examples.retail.records_comparison import differences
from examples.retail.replay import main, replay

RECORDS = load_records(EXTRACT)
CONVERSATIONS = [
    *load_conversations(EXTRACT / "conversations.json"),
    *load_conversations(EXTRACT / "conversations_with_reads.json"),
]


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda one: one["id"])
def test_a_conversation_ends_in_its_expected_changes(conversation: Conversation) -> None:
    assert not replay(RECORDS, conversation)


def test_a_wrong_cent_a_missing_record_and_a_surprising_refusal_are_found() -> None:
    conversation = next(one for one in CONVERSATIONS if one["expected_changes"].get("users"))
    without_users: Conversation = {
        **conversation,
        "expected_changes": {"orders": conversation["expected_changes"]["orders"]},
    }
    assert any(wrong.startswith("/users") for wrong in replay(RECORDS, without_users))
    surprised: Conversation = {**conversation, "actions": [{**one, "error": "no"} for one in conversation["actions"]]}
    assert any("not refused" in wrong for wrong in replay(RECORDS, surprised))


def test_money_is_compared_at_two_decimals_and_all_else_exactly() -> None:
    assert not differences({"a": [10.1, "x", True]}, {"a": [10.100000000000001, "x", True]})
    assert differences({"a": 10.1}, {"a": 10.11}) == ["/a: expected 10.1, found 10.11"]
    assert differences({"a": [1]}, {"a": [1, 2]}) == ["/a: expected [1], found [1, 2]"]
    assert differences({"a": True, "b": "x"}, {"a": 1, "c": "x"}) == [
        "/a: expected True, found 1",
        "/b: missing",
        "/c: not expected",
    ]


def test_the_command_plays_the_extract_and_tells_how_many_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out == "60 of 60 conversations end in their expected changes\n"


def test_the_command_names_conversations_that_do_not_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "conversations.json"
    action = '{"name": "get_order_details", "kwargs": {"order_id": "#W0"}, "write": false, "error": null}'
    file.write_text(f'[{{"id": "a", "user_id": "u", "actions": [{action}], "expected_changes": {{}}}}]')
    assert main(["--conversations", str(file)]) == 1
    out = capsys.readouterr().out
    assert "/actions/0 get_order_details: refused" in out
    assert "0 of 1" in out
    assert main(["--data", str(tmp_path)]) == 2
