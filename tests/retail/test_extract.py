"""The extract that comes with the example: small, whole, varied, without the published texts, and made by the script."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from examples.retail.conversations import Conversation, load_conversations
from examples.retail.records import EXTRACT, load_records
from examples.retail.rules.operations import OPERATIONS, Write
from tests.static.project import ROOT

RECORDS = load_records(EXTRACT)
PUBLISHED = load_conversations(EXTRACT / "conversations.json")
OWN = load_conversations(EXTRACT / "conversations_with_reads.json")
LARGEST_BYTES = 500_000


def test_the_extract_is_its_own_extract(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "extract_retail.py"
    subprocess.run([sys.executable, script, "--data", EXTRACT, "--out", tmp_path], check=True, cwd=ROOT)
    for file in sorted(EXTRACT.glob("*.json")):
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name
    assert (tmp_path / "LICENSE").read_bytes() == (EXTRACT / "LICENSE").read_bytes()


def test_it_is_small_and_its_licence_and_source_are_beside_it() -> None:
    assert sum(file.stat().st_size for file in EXTRACT.iterdir()) < LARGEST_BYTES
    assert "Copyright (c) 2024 Sierra" in (EXTRACT / "LICENSE").read_text()
    assert "tau-bench" in (EXTRACT / "README.md").read_text()


def test_it_holds_facts_only() -> None:
    for conversation in json.loads((EXTRACT / "conversations.json").read_bytes()):
        assert sorted(conversation) == ["actions", "expected_changes", "id", "user_id"]


def test_every_record_that_is_referred_to_is_there() -> None:
    for conversation in [*PUBLISHED, *OWN]:
        assert conversation["user_id"] in RECORDS.users
        assert set(conversation["expected_changes"].get("orders", {})) <= set(RECORDS.orders)
    for user in RECORDS.users.values():
        assert set(user["orders"]) <= set(RECORDS.orders)
    for order in RECORDS.orders.values():
        assert order["user_id"] in RECORDS.users
        assert {item["product_id"] for item in order["items"]} <= set(RECORDS.products)


def test_the_60_show_every_published_operation_refusal_and_length() -> None:
    assert len(PUBLISHED) == 60
    actions = [action for one in PUBLISHED for action in one["actions"]]
    assert {action["name"] for action in actions} == _writes() - {"modify_user_address"}
    refused = {action["name"] for action in actions if action["error"] is not None}
    assert refused == {
        "modify_pending_order_payment",
        "modify_pending_order_items",
        "exchange_delivered_order_items",
    }
    assert {len(one["actions"]) for one in PUBLISHED} == {1, 2, 3, 4, 5, 6, 7}
    assert any(not one["expected_changes"] for one in PUBLISHED)


def test_our_own_hold_every_operation_and_refused_reads_between_writes_and_repetitions() -> None:
    assert {action["name"] for one in OWN for action in one["actions"]} == set(OPERATIONS)
    assert any(_reads_between_writes(one) for one in OWN)
    assert any(_repeats(one) for one in OWN)
    refused = {action["name"] for one in OWN for action in one["actions"] if action["error"] is not None}
    assert refused >= _writes() - {"modify_user_address"}
    assert refused >= {"find_user_id_by_email", "get_order_details", "get_product_details", "calculate"}
    for one in OWN:
        assert all(action["write"] == (action["name"] in _writes()) for action in one["actions"])


def _writes() -> set[str]:
    return {operation.name for operation in OPERATIONS.values() if isinstance(operation, Write)}


def _repeats(conversation: Conversation) -> bool:
    """Whether it writes twice with one name on one order, with other arguments."""
    asked = [
        (action["name"], action["kwargs"].get("order_id")) for action in conversation["actions"] if action["write"]
    ]
    return len(set(asked)) < len(asked)


def _reads_between_writes(conversation: Conversation) -> bool:
    kinds = [action["write"] for action in conversation["actions"]]
    first, last = kinds.index(True), len(kinds) - kinds[::-1].index(True)
    return False in kinds[first:last]
