"""The next checkpoint is a pure, bounded function of the last one, and its bytes lose nothing (design 5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.contracts.checkpoint import (
    MAX_FACTS,
    MAX_MESSAGES,
    MAX_RECENT_RECEIPTS,
    Checkpoint,
    decode_checkpoint,
    encode_checkpoint,
)
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.errors import TurnLimitError
from intention_kernel.runtime.stages.memory import (
    BlockedOn,
    TurnMark,
    with_blocked_steps,
    with_facts,
    with_message,
    with_receipts,
)

EMPTY = Checkpoint(agent_id="a", fingerprint="f")
ODD_TEXT = st.text() | st.sampled_from(["\0", "\ud800", "\udfff"])
Memory = tuple[dict[str, JsonValue], JsonValue, list[dict[str, JsonValue]]]


def memories(text: st.SearchStrategy[str]) -> st.SearchStrategy[Memory]:
    """Facts, interaction and agenda. Texts without surrogates of their own: a document that has one is read another way."""
    numbers = st.integers() | st.integers(min_value=2**64 + 1) | st.floats(allow_nan=False, allow_infinity=False)
    value: st.SearchStrategy[JsonValue] = st.recursive(
        st.none() | st.booleans() | numbers | text,
        lambda children: st.lists(children, max_size=3) | st.dictionaries(text, children, max_size=3),
        max_leaves=8,
    )
    members = st.dictionaries(text, value, max_size=3)
    return st.tuples(st.dictionaries(text, value, max_size=4), value, st.lists(members))


def mark(turn_id: str = "t1") -> TurnMark:
    return TurnMark("thread", turn_id, "2026-01-01T00:00:00.000000Z")


def receipt(number: int) -> dict[str, JsonValue]:
    return {"receiptId": f"r{number}", "effectKey": f"k:{number}", "state": "completed", "attempt": 1}


def test_messages_are_a_window() -> None:
    memory = EMPTY
    for number in range(MAX_MESSAGES + 5):
        memory = with_message(memory, mark(), "user", str(number))
    assert [message["text"] for message in memory.messages] == [str(n) for n in range(5, MAX_MESSAGES + 5)]


def test_a_fact_beyond_the_bound_fails_and_none_is_dropped() -> None:
    full = with_facts(EMPTY, mark(), {f"f{number}": number for number in range(MAX_FACTS)}, ())
    assert len(full.facts) == MAX_FACTS
    assert with_facts(full, mark("t2"), {"f0": "newer"}, ()).fact("f0") == "newer"
    with pytest.raises(TurnLimitError, match="1001 facts"):
        with_facts(full, mark("t2"), {"one more": 1}, ())


def test_receipts_that_something_refers_to_are_kept_and_the_last_ones() -> None:
    memory = with_facts(EMPTY, mark(), {"charge": 1}, ["r0"])
    memory = with_blocked_steps(memory, mark(), "t1", [BlockedOn("k:1", "r1", "the charge")])
    for number in range(MAX_RECENT_RECEIPTS + 10):
        memory = with_receipts(memory, mark(), [receipt(number)])
    kept = [record["receiptId"] for record in memory.receipts]
    assert kept[:2] == ["r0", "r1"]
    assert len(kept) == 2 + MAX_RECENT_RECEIPTS
    assert len(set(kept)) == len(kept)


def test_receipts_of_a_compiled_agents_blocked_steps_and_evidence_are_kept() -> None:
    step: dict[str, JsonValue] = {"id": "agenda:1", "status": "blocked", "blocked": {"receipts": [{"receiptId": "r1"}]}}
    fact: dict[str, JsonValue] = {"type": "charge", "evidence": [{"id": "r0", "content": "charged"}]}
    memory = Checkpoint(agent_id="a", fingerprint="f", agenda=(step,), facts={"charge@1": fact})
    for number in range(MAX_RECENT_RECEIPTS + 10):
        memory = with_receipts(memory, mark(), [receipt(number)])
    kept = [record["receiptId"] for record in memory.receipts]
    assert kept[:2] == ["r0", "r1"]
    assert len(kept) == 2 + MAX_RECENT_RECEIPTS


def test_a_receipt_appears_once_with_its_newest_state() -> None:
    memory = with_receipts(EMPTY, mark(), [{**receipt(1), "state": "uncertain"}, receipt(2)])
    memory = with_receipts(memory, mark("t2"), [receipt(1)])
    assert [(record["receiptId"], record["state"]) for record in memory.receipts] == [
        ("r2", "completed"),
        ("r1", "completed"),
    ]


def test_blocked_steps_of_a_turn_are_replaced_and_other_items_stay() -> None:
    other: dict[str, JsonValue] = {"id": "x", "kind": "question", "private": {"owner": 1}}
    memory = Checkpoint(agent_id="a", fingerprint="f", agenda=(other,))
    memory = with_blocked_steps(memory, mark(), "t1", [BlockedOn("k:1", "r1", "one"), BlockedOn("k:2", "r2", "two")])
    memory = with_blocked_steps(memory, mark("t2"), "t2", [BlockedOn("k:1", "r1", "one")])
    memory = with_blocked_steps(memory, mark("c"), "t1", [BlockedOn("k:2", "r2", "two")])
    assert [(item.get("turnId"), item.get("effectKey")) for item in memory.agenda] == [
        (None, None),
        ("t2", "k:1"),
        ("t1", "k:2"),
    ]
    assert memory.agenda[0] is other


@given(memories(st.text()) | memories(ODD_TEXT))
def test_a_checkpoint_round_trips_every_json_value(of: Memory) -> None:
    facts, interaction, agenda = of
    memory = Checkpoint(agent_id="a", fingerprint="f", interaction=interaction, agenda=tuple(agenda))
    memory = with_facts(memory, mark(), facts, ())
    back = decode_checkpoint(encode_checkpoint(memory))
    assert back == memory
    assert repr(back) == repr(memory), "1, 1.0 and True are equal, and so are 0.0 and -0.0"


@pytest.mark.parametrize("value", ["\0", "\ud800", 2**70, -(2**64), {"b": 1, "a": 2}, [[[[]]]], -0.0, 1e300])
def test_odd_values_come_back_as_they_were(value: JsonValue) -> None:
    memory = with_facts(EMPTY, mark(), {"odd": value}, ())
    back = decode_checkpoint(encode_checkpoint(memory)).fact("odd")
    assert repr(back) == repr(value)


def test_members_of_a_later_build_survive_in_their_place() -> None:
    document = loads(encode_checkpoint(EMPTY))
    assert isinstance(document, dict)
    document["tomorrow"] = {"kept": [1, 2]}
    document["agenda"] = [{"id": "x", "future": True}]
    back = decode_checkpoint(dumps(document))
    assert loads(encode_checkpoint(back)) == document
