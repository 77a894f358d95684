"""Makes the extract that comes with the retail example out of the published data.

    python scripts/extract_retail.py --data DIR

60 conversations as facts only (operations and expected records, none of the published texts), the records that they need,
and conversations of our own in the same format, with reads between the writes. The same input gives the same bytes, and
the extract is its own extract.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from examples.retail.conversations import Action, Conversation, load_conversations
from examples.retail.records import EXTRACT, Address, Changes, Order, Payment, Records, User, load_records

CONVERSATIONS = 60
WOVEN = 16
"""How many of them are also told with reads in between."""

_ABSENT_ORDER = "#W0000000"
_ADDRESS = Address(address1="12 Elm Street", address2="Suite 3", city="Boston", state="MA", country="USA", zip="02108")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the published data, with its LICENSE")
    parser.add_argument("--out", type=Path, default=EXTRACT, help="folder to write; the example's own if left out")
    options = parser.parse_args(arguments)
    records = load_records(options.data)
    chosen = choose(load_conversations(options.data / "conversations.json"))
    write_extract(records, chosen, options.out)
    if options.data.resolve() != options.out.resolve():
        shutil.copyfile(options.data / "LICENSE", options.out / "LICENSE")
    return 0


def choose(conversations: Sequence[Conversation]) -> list[Conversation]:
    """The conversations that show most, in their order in the file: by turns the first unchosen one of every trait."""
    by_trait: dict[str, list[int]] = {}
    for place, conversation in enumerate(conversations):
        for trait in traits(conversation):
            by_trait.setdefault(trait, []).append(place)
    chosen: set[int] = set()
    while len(chosen) < min(CONVERSATIONS, len(conversations)):
        for trait in sorted(by_trait):
            left = [place for place in by_trait[trait] if place not in chosen]
            if left and len(chosen) < CONVERSATIONS:
                chosen.add(left[0])
    return [conversations[place] for place in sorted(chosen)]


def traits(conversation: Conversation) -> set[str]:
    """What a conversation shows: its operations, its refusals, its length, repetitions, what changes."""
    actions = conversation["actions"]
    found = {f"operation {action['name']}" for action in actions}
    found |= {f"refused {action['name']}" for action in actions if action["error"] is not None}
    found.add(f"actions {len(actions)}")
    found.add(f"tables {sorted(conversation['expected_changes'])}")
    repeated = Counter((action["name"], str(action["kwargs"].get("order_id"))) for action in actions)
    if max(repeated.values()) > 1:
        found.add("repeated on one record")
    if len(repeated) > len({order for _, order in repeated}):
        found.add("several operations on one record")
    return found


def write_extract(records: Records, chosen: Sequence[Conversation], folder: Path) -> None:
    """Write the five files; a customer comes with all orders, and the products are whole, since any may be asked for."""
    users = {id: user for id, user in records.users.items() if id in {one["user_id"] for one in chosen}}
    orders = {id: order for id, order in records.orders.items() if order["user_id"] in users}
    folder.mkdir(parents=True, exist_ok=True)
    _write_map(folder / "users.json", users)
    _write_map(folder / "products.json", records.products)
    _write_map(folder / "orders.json", orders)
    _write_list(folder / "conversations.json", [facts(one) for one in chosen])
    kept = Records(users, records.products, orders)
    own = [*(woven(kept, one) for one in chosen[:WOVEN]), *moves(kept), *refusals(kept), *repetitions(kept)]
    _write_list(folder / "conversations_with_reads.json", own)


def facts(conversation: Conversation) -> Conversation:
    """The conversation without the published texts."""
    return Conversation(
        id=conversation["id"],
        user_id=conversation["user_id"],
        actions=conversation["actions"],
        expected_changes=conversation["expected_changes"],
    )


def woven(records: Records, conversation: Conversation) -> Conversation:
    """The conversation as a careful agent has it: it looks before every write. Reads change nothing of what is expected."""
    user_id = conversation["user_id"]
    actions = list(_introduction(user_id, records.users[user_id]))
    for action in conversation["actions"]:
        actions += [*_looks(records, action), action]
    actions.append(_read("get_order_details", "there is no such order", order_id=_ABSENT_ORDER))
    return Conversation(
        id=f"reads-{conversation['id']}",
        user_id=user_id,
        actions=actions,
        expected_changes=conversation["expected_changes"],
    )


def moves(records: Records) -> Iterator[Conversation]:
    """Customers who move: the operation that no published conversation has."""
    for place, (user_id, user) in enumerate(list(records.users.items())[:3]):
        moved = user.copy()
        moved["address"] = _ADDRESS
        actions = [
            *_introduction(user_id, user),
            _write("modify_user_address", None, user_id=user_id, **_ADDRESS),
            _read("get_user_details", user_id=user_id),
            _read(
                "find_user_id_by_name_zip",
                "nobody of that name lives there any more",
                **user["name"],
                zip=user["address"]["zip"],
            ),
            _read("transfer_to_human_agents", summary="The customer asks when the next newsletter comes."),
        ]
        yield Conversation(
            id=f"moves-{place}", user_id=user_id, actions=actions, expected_changes={"users": {user_id: moved}}
        )


def refusals(records: Records) -> Iterator[Conversation]:
    """Customers who ask for what the rules do not allow; after each of these conversations nothing has changed."""
    for status in ("pending", "delivered", "processed", "cancelled"):
        order = next(order for order in records.orders.values() if order["status"] == status)
        yield Conversation(
            id=f"refused-{status}",
            user_id=order["user_id"],
            actions=[
                *_introduction(order["user_id"], records.users[order["user_id"]]),
                _read("list_all_product_types"),
                _read("get_product_details", "an item id is no product id", product_id=order["items"][0]["item_id"]),
                *_refused(order),
                _read("get_order_details", order_id=order["order_id"]),
                _read("calculate", "this is no arithmetic", expression="19.99 +"),
            ],
            expected_changes={},
        )


def repetitions(records: Records) -> Iterator[Conversation]:
    """Customers who ask for an operation on one record again: they change it back, or were refused the first time."""
    pending = [order for order in records.orders.values() if order["status"] == "pending"]
    yield _there_and_back(pending[0])
    yield _cancelled_at_last(next(order for order in pending if "gift_card" not in str(order["payment_history"])))


def _there_and_back(order: Order) -> Conversation:
    id = order["order_id"]
    actions = [
        _write("modify_pending_order_address", None, order_id=id, **_ADDRESS),
        _read("get_order_details", order_id=id),
        _write("modify_pending_order_address", None, order_id=id, **order["address"]),
        _read("get_order_details", order_id=id),
        _write("modify_pending_order_address", None, order_id=id, **_ADDRESS),
        _write("modify_pending_order_address", None, order_id=id, **order["address"]),
    ]
    return Conversation(id="there-and-back", user_id=order["user_id"], actions=actions, expected_changes={})


def _cancelled_at_last(order: Order) -> Conversation:
    id = order["order_id"]
    actions = [
        _write("cancel_pending_order", "no allowed reason", order_id=id, reason="too dear"),
        _read("get_order_details", order_id=id),
        _write("cancel_pending_order", None, order_id=id, reason="no longer needed"),
        _write("cancel_pending_order", "not pending any more", order_id=id, reason="ordered by mistake"),
    ]
    cancelled = order.copy()
    cancelled["status"] = "cancelled"
    cancelled["cancel_reason"] = "no longer needed"
    paid = order["payment_history"][0]
    refund = Payment(transaction_type="refund", amount=paid["amount"], payment_method_id=paid["payment_method_id"])
    cancelled["payment_history"] = [paid, refund]
    expected: Changes = {"orders": {id: cancelled}}
    return Conversation(id="cancelled-at-last", user_id=order["user_id"], actions=actions, expected_changes=expected)


def _refused(order: Order) -> Iterator[Action]:
    id, item = order["order_id"], order["items"][0]["item_id"]
    paid = order["payment_history"][0]["payment_method_id"]
    yield _write("cancel_pending_order", "not pending, or no allowed reason", order_id=id, reason="found it cheaper")
    yield _write("modify_pending_order_payment", "not pending, or paid so", order_id=id, payment_method_id=paid)
    change: dict[str, JsonValue] = {
        "order_id": id,
        "item_ids": [item],
        "new_item_ids": ["0"],
        "payment_method_id": paid,
    }
    yield _write("modify_pending_order_items", "not pending, or no such variant", **change)
    yield _write("exchange_delivered_order_items", "not delivered, or no such variant", **change)
    back: dict[str, JsonValue] = {"order_id": id, "item_ids": [item], "payment_method_id": "gift_card_0"}
    yield _write("return_delivered_order_items", "not delivered, or no such method", **back)
    if order["status"] != "pending":
        yield _write("modify_pending_order_address", "not pending", order_id=id, **_ADDRESS)


def _introduction(user_id: str, user: User) -> Iterator[Action]:
    yield _read("find_user_id_by_email", "there is no such address", email=f"not.{user['email']}")
    yield _read("find_user_id_by_email", email=user["email"].upper())
    yield _read("find_user_id_by_name_zip", **user["name"], zip=user["address"]["zip"])
    yield _read("get_user_details", user_id=user_id)


def _looks(records: Records, action: Action) -> Iterator[Action]:
    order = records.orders[str(action["kwargs"]["order_id"])]
    yield _read("get_order_details", order_id=order["order_id"])
    if "new_item_ids" in action["kwargs"]:
        yield _read("get_product_details", product_id=order["items"][0]["product_id"])
        yield _read("calculate", expression=" + ".join(str(item["price"]) for item in order["items"]))


def _read(name: str, error: str | None = None, **kwargs: JsonValue) -> Action:
    return Action(name=name, kwargs=kwargs, write=False, error=None if error is None else f"Error: {error}")


def _write(name: str, error: str | None, **kwargs: JsonValue) -> Action:
    return Action(name=name, kwargs=kwargs, write=True, error=None if error is None else f"Error: {error}")


def _write_map(file: Path, records: Mapping[str, object]) -> None:
    _write_lines(file, "{}", [f"{_compact(id)}:{_compact(record)}" for id, record in records.items()])


def _write_list(file: Path, conversations: Sequence[Conversation]) -> None:
    _write_lines(file, "[]", [_compact(one) for one in conversations])


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _write_lines(file: Path, brackets: str, lines: Sequence[str]) -> None:
    # A record or a conversation a line, so that a difference can be read.
    file.write_text(f"{brackets[0]}\n" + ",\n".join(lines) + f"\n{brackets[1]}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
