"""The shop's worlds: keyed writes happen once, worlds do not see each other, and the ledger only grows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intention_kernel.errors import ConfigurationError

from examples.retail.conversations import Conversation, load_conversations
from examples.retail.records import EXTRACT, load_records
from examples.retail.records_comparison import differences
from examples.retail.rules.operations import OPERATIONS, Kwargs, Read, Write
from examples.retail.rules.outcomes import Refusal
from examples.retail.shop_store import IN_MEMORY, Applied, Conflict, Repeated, ShopStore, Written
from tests.retail.small_shop import PENDING, RED, order, shop

EXTRACTED = load_records(EXTRACT)
CONVERSATIONS = [
    *load_conversations(EXTRACT / "conversations.json"),
    *load_conversations(EXTRACT / "conversations_with_reads.json"),
]
CANCEL: Kwargs = {"order_id": PENDING, "reason": "no longer needed"}
TOO_DEAR: Kwargs = {"order_id": PENDING, "reason": "too dear"}


@pytest.fixture
def store() -> Iterator[ShopStore]:
    with ShopStore(IN_MEMORY, shop()) as store:
        yield store


def write(store: ShopStore, world: str, key: str, kwargs: Kwargs, name: str = "cancel_pending_order") -> Written:
    operation = OPERATIONS[name]
    assert isinstance(operation, Write)
    return store.write(world, key, operation, kwargs)


def state(store: ShopStore) -> str:
    return json.dumps([store.changes("a"), store.changes("b"), [str(entry) for entry in store.ledger()]])


def test_the_same_key_with_the_same_payload_gets_the_original_outcome(store: ShopStore) -> None:
    first = write(store, "a", "k", CANCEL)
    assert isinstance(first, Applied)
    before = state(store)
    assert write(store, "a", "k", {name: CANCEL[name] for name in reversed(list(CANCEL))}) == Repeated(first.outcome)
    assert state(store) == before
    assert store.outcome("a", "k") == first.outcome
    outcome = json.loads(first.outcome)
    assert (outcome["key"], outcome["operation"]) == ("k", "cancel_pending_order")
    assert outcome["result"] == store.changes("a")["orders"][PENDING]


def test_the_same_key_with_another_payload_or_operation_is_a_conflict(store: ShopStore) -> None:
    write(store, "a", "k", CANCEL)
    before = state(store)
    assert isinstance(write(store, "a", "k", {**CANCEL, "reason": "ordered by mistake"}), Conflict)
    assert isinstance(write(store, "a", "k", CANCEL, "modify_pending_order_payment"), Conflict)
    assert state(store) == before


def test_a_refusal_changes_nothing_and_leaves_the_key_free(store: ShopStore) -> None:
    before = state(store)
    assert isinstance(write(store, "a", "k", TOO_DEAR), Refusal)
    assert state(store) == before
    assert store.outcome("a", "k") is None
    assert isinstance(write(store, "a", "k", CANCEL), Applied)


def test_worlds_share_neither_records_nor_keys(store: ShopStore) -> None:
    assert isinstance(write(store, "a", "k", CANCEL), Applied)
    assert store.changes("b") == {}
    assert store.outcome("b", "k") is None
    assert isinstance(write(store, "b", "k", CANCEL), Applied)
    assert [(entry.sequence, entry.world) for entry in store.ledger()] == [(1, "a"), (2, "b")]


def test_a_record_that_is_changed_back_is_no_change(store: ShopStore) -> None:
    home = store.read("a", _read("get_order_details"), {"order_id": PENDING})
    assert not isinstance(home, Refusal)
    for key, city in (("1", "Reno"), ("2", "Salem")):
        address: Kwargs = {"address1": "1 Main Street", "address2": "", "city": city, "state": "MA"}
        kwargs: Kwargs = {"order_id": PENDING, **address, "country": "USA", "zip": "01970"}
        assert isinstance(write(store, "a", key, kwargs, "modify_pending_order_address"), Applied)
    assert store.changes("a") == {}
    assert len(store.ledger()) == 2


def test_the_ledger_can_be_neither_changed_nor_shortened(tmp_path: Path) -> None:
    file = tmp_path / "shop.sqlite"
    with ShopStore(file, shop()) as store:
        write(store, "a", "k", CANCEL)
    with closing(sqlite3.connect(file)) as connection:
        for statement in (
            "DELETE FROM ledger",
            "UPDATE ledger SET key = 'other'",
            "INSERT OR REPLACE INTO ledger SELECT * FROM ledger",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)


def test_what_was_applied_outlives_the_store_and_other_records_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "shop.sqlite"
    with ShopStore(file, shop()) as store:
        first = write(store, "a", "k", CANCEL)
        assert isinstance(first, Applied)
    with ShopStore(file, shop()) as store:
        assert write(store, "a", "k", CANCEL) == Repeated(first.outcome)
    with pytest.raises(ConfigurationError, match="other records"):
        ShopStore(file, shop(pending=order(PENDING, "pending", RED)))


requests = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from(["k1", "k2", "ключ", "\0"]),
    st.sampled_from(
        [
            ("cancel_pending_order", CANCEL),
            ("cancel_pending_order", TOO_DEAR),
            ("modify_pending_order_payment", {"order_id": PENDING, "payment_method_id": "paypal_1"}),
            ("modify_pending_order_payment", {"order_id": PENDING, "payment_method_id": "gift_card_1"}),
        ]
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(requests, max_size=8))
def test_applying_twice_leaves_every_world_as_applying_once(
    sequence: list[tuple[str, str, tuple[str, Kwargs]]],
) -> None:
    with ShopStore(IN_MEMORY, shop()) as store:
        for world, key, (name, kwargs) in sequence:
            before = state(store)
            first = write(store, world, key, kwargs, name)
            once = state(store)
            assert (once != before) == isinstance(first, Applied)
            second = write(store, world, key, kwargs, name)
            assert state(store) == once
            assert second == (Repeated(first.outcome) if isinstance(first, Applied) else first)
        assert [entry.sequence for entry in store.ledger()] == list(range(1, len(store.ledger()) + 1))


def test_all_conversations_of_the_extract_side_by_side_end_in_their_expected_changes() -> None:
    """One shop, a world each, their actions interleaved; every write is also sent a second time."""
    with ShopStore(IN_MEMORY, EXTRACTED) as store:
        longest = max(len(one["actions"]) for one in CONVERSATIONS)
        for place in range(longest):
            for conversation in CONVERSATIONS:
                if place < len(conversation["actions"]):
                    _play(store, conversation, place)
        for conversation in CONVERSATIONS:
            assert not differences(conversation["expected_changes"], store.changes(conversation["id"]))
        applied = [one for each in CONVERSATIONS for one in each["actions"] if one["write"] and one["error"] is None]
        assert len(store.ledger()) == len(applied)


def _play(store: ShopStore, conversation: Conversation, place: int) -> None:
    action = conversation["actions"][place]
    operation = OPERATIONS[action["name"]]
    if isinstance(operation, Read):
        refused = isinstance(store.read(conversation["id"], operation, action["kwargs"]), Refusal)
    else:
        first = store.write(conversation["id"], str(place), operation, action["kwargs"])
        again = store.write(conversation["id"], str(place), operation, action["kwargs"])
        refused = isinstance(first, Refusal)
        assert isinstance(again, Refusal if refused else Repeated)
    assert refused == (action["error"] is not None)


def _read(name: str) -> Read:
    operation = OPERATIONS[name]
    assert isinstance(operation, Read)
    return operation
