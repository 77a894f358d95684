"""What holds for every sequence of operations, whatever is asked for in whatever order."""

from __future__ import annotations

import copy
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from examples.retail.records import Order, Records
from examples.retail.rules.operations import Kwargs, perform
from examples.retail.rules.outcomes import Change
from tests.retail.small_shop import (
    AWAY,
    BLUE,
    CARD,
    DELIVERED,
    GIFT,
    GREEN,
    PENDING,
    RED,
    SMALL_GIFT,
    SOLD_OUT,
    order,
    shop,
)

CENT = 0.01
order_ids = st.sampled_from([PENDING, PENDING, DELIVERED, DELIVERED, "#W3", "#W9"])
methods = st.sampled_from([CARD, GIFT, SMALL_GIFT, "paypal_1", "paypal_9"])
item_lists = st.lists(st.sampled_from([RED, BLUE, GREEN, SOLD_OUT, "lid"]), max_size=3)


def asked(name: str, **members: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[str, Kwargs]]:
    return st.tuples(st.just(name), st.fixed_dictionaries(members))


swaps = {"order_id": order_ids, "item_ids": item_lists, "new_item_ids": item_lists, "payment_method_id": methods}
reasons = st.sampled_from(["no longer needed", "ordered by mistake", "too dear"])
address = {name: st.just(text) for name, text in AWAY.items()}
requests = st.one_of(
    asked("cancel_pending_order", order_id=order_ids, reason=reasons),
    asked("modify_pending_order_payment", order_id=order_ids, payment_method_id=methods),
    asked("modify_pending_order_items", **swaps),
    asked("exchange_delivered_order_items", **swaps),
    asked("return_delivered_order_items", order_id=order_ids, item_ids=item_lists, payment_method_id=methods),
    asked("modify_pending_order_address", order_id=order_ids, **address),
    asked("modify_user_address", user_id=st.sampled_from(["ann_lee_1", "nobody"]), **address),
    asked("get_order_details", order_id=order_ids),
)


def on_gift_cards(records: Records) -> Counter[str]:
    """What every gift card holds and what the histories say went from it to the shop: this never changes."""
    held: Counter[str] = Counter()
    for method_id, method in records.users["ann_lee_1"]["payment_methods"].items():
        if "balance" in method:
            held[method_id] = round(method["balance"] * 100)
    for one in records.orders.values():
        for entry in one["payment_history"]:
            if entry["payment_method_id"] in held:
                sign = 1 if entry["transaction_type"] == "payment" else -1
                held[entry["payment_method_id"]] += sign * round(entry["amount"] * 100)
    return held


def price_of(priced: Order) -> float:
    return sum(item["price"] for item in priced["items"])


@settings(max_examples=150, deadline=None)
@given(st.lists(requests, max_size=8), st.sampled_from([CARD, GIFT, SMALL_GIFT]))
def test_no_cent_of_a_gift_card_appears_or_vanishes(sequence: list[tuple[str, Kwargs]], paid_with: str) -> None:
    records = first = shop(pending=order(PENDING, "pending", RED, paid_with=paid_with))
    for name, kwargs in sequence:
        outcome = perform(records, name, kwargs)
        if isinstance(outcome, Change):
            records = records.over(outcome.users, outcome.orders)
    assert on_gift_cards(records) == on_gift_cards(first)
    balances = [method.get("balance", 0.0) for method in records.users["ann_lee_1"]["payment_methods"].values()]
    assert min(balances) >= 0
    assert balances == [round(balance, 2) for balance in balances]


@settings(max_examples=150, deadline=None)
@given(st.lists(requests, max_size=8))
def test_a_rule_never_touches_the_records_it_is_given(sequence: list[tuple[str, Kwargs]]) -> None:
    """So a refusal, a read, and a change that nobody applies leave the world as it was."""
    records = shop()
    for name, kwargs in sequence:
        before = copy.deepcopy(records)
        outcome = perform(records, name, kwargs)
        assert records == before
        if isinstance(outcome, Change):
            records = records.over(outcome.users, outcome.orders)


@settings(max_examples=150, deadline=None)
@given(asked("modify_pending_order_items", **{**swaps, "order_id": st.just(PENDING)}))
def test_the_difference_of_changed_items_is_what_is_paid(request: tuple[str, Kwargs]) -> None:
    records = shop()
    outcome = perform(records, *request)
    if not isinstance(outcome, Change):
        return
    before, after = records.orders[PENDING], outcome.orders[PENDING]
    entry = after["payment_history"][-1]
    paid = entry["amount"] if entry["transaction_type"] == "payment" else -entry["amount"]
    assert abs(price_of(after) - price_of(before) - paid) < CENT / 2
    assert entry["amount"] >= 0
    assert len(after["items"]) == len(before["items"])
    gone = Counter(str(id) for id in _list(request[1]["item_ids"]))
    come = Counter(str(id) for id in _list(request[1]["new_item_ids"]))
    held = Counter(item["item_id"] for item in before["items"])
    assert Counter(item["item_id"] for item in after["items"]) == held - gone + come


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value
