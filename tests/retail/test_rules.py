"""The shop's rules, one by one: what each operation does, and what it is refused for."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from examples.retail.records import Address, Order, Records, User
from examples.retail.rules.operations import OPERATIONS, Kwargs, Write, perform
from examples.retail.rules.outcomes import Answer, Change, Refusal, Result
from tests.retail.small_shop import (
    AWAY,
    BLUE,
    CARD,
    DELIVERED,
    GIFT,
    GREEN,
    HOME,
    PENDING,
    RED,
    SMALL_GIFT,
    SOLD_OUT,
    order,
    shop,
)

USER = "ann_lee_1"
ITEMS = "modify_pending_order_items"
EXCHANGE = "exchange_delivered_order_items"
RETURN = "return_delivered_order_items"
PAYMENT = "modify_pending_order_payment"
CANCEL = "cancel_pending_order"


def changed(records: Records, name: str, kwargs: Kwargs) -> Change:
    outcome = perform(records, name, kwargs)
    assert isinstance(outcome, Change), outcome
    return outcome


def changed_order(records: Records, name: str, kwargs: Kwargs) -> Order:
    return changed(records, name, kwargs).orders[str(kwargs["order_id"])]


def answer(name: str, **kwargs: str) -> Result:
    outcome = perform(shop(), name, kwargs)
    assert isinstance(outcome, Answer), outcome
    return outcome.result


def refusal(records: Records, name: str, kwargs: Kwargs) -> str:
    outcome = perform(records, name, kwargs)
    assert isinstance(outcome, Refusal), outcome
    assert outcome.message
    return outcome.code


def balance(user: User, method_id: str) -> float:
    return user["payment_methods"][method_id]["balance"]


def to(address: Address, **record: str) -> Kwargs:
    """The arguments of a change of address."""
    kwargs: dict[str, JsonValue] = {**record}
    return kwargs | {name: str(text) for name, text in address.items()}


def swap(order_id: str, old: list[str], new: list[str], method: str = CARD) -> Kwargs:
    return {"order_id": order_id, "item_ids": [*old], "new_item_ids": [*new], "payment_method_id": method}


def test_a_cancellation_refunds_every_entry_and_gift_cards_at_once() -> None:
    records = shop(pending=order(PENDING, "pending", RED, paid_with=GIFT))
    change = changed(records, CANCEL, {"order_id": PENDING, "reason": "ordered by mistake"})
    assert change.orders[PENDING]["status"] == "cancelled"
    assert change.orders[PENDING]["cancel_reason"] == "ordered by mistake"
    refund = {"transaction_type": "refund", "amount": 10.1, "payment_method_id": GIFT}
    assert change.orders[PENDING]["payment_history"][1:] == [refund]
    assert balance(change.users[USER], GIFT) == 60.1


def test_a_cancellation_after_a_change_of_payment_refunds_all_three_entries() -> None:
    records = shop()
    paid = changed(records, PAYMENT, {"order_id": PENDING, "payment_method_id": GIFT})
    records = records.over(paid.users, paid.orders)
    cancelled = changed(records, CANCEL, {"order_id": PENDING, "reason": "no longer needed"})
    history = cancelled.orders[PENDING]["payment_history"]
    assert [(entry["transaction_type"], entry["payment_method_id"]) for entry in history] == [
        ("payment", CARD),
        ("payment", GIFT),
        ("refund", CARD),
        ("refund", CARD),
        ("refund", GIFT),
        ("refund", CARD),
    ]
    assert balance(cancelled.users[USER], GIFT) == 50.0


def test_a_payment_moves_with_the_new_entry_before_the_refund() -> None:
    records = shop(pending=order(PENDING, "pending", RED, paid_with=SMALL_GIFT))
    change = changed(records, PAYMENT, {"order_id": PENDING, "payment_method_id": GIFT})
    assert change.orders[PENDING]["payment_history"][1:] == [
        {"transaction_type": "payment", "amount": 10.1, "payment_method_id": GIFT},
        {"transaction_type": "refund", "amount": 10.1, "payment_method_id": SMALL_GIFT},
    ]
    assert change.orders[PENDING]["status"] == "pending"
    assert (balance(change.users[USER], GIFT), balance(change.users[USER], SMALL_GIFT)) == (39.9, 20.3)


def test_an_orders_address_is_replaced_and_the_customers_stays() -> None:
    change = changed(shop(), "modify_pending_order_address", to(AWAY, order_id=PENDING))
    assert change.orders[PENDING]["address"] == AWAY
    assert not change.users


def test_a_customers_address_is_replaced_and_the_orders_stay() -> None:
    change = changed(shop(), "modify_user_address", to(AWAY, user_id=USER))
    assert change.users[USER]["address"] == AWAY
    assert not change.orders


def test_changed_items_are_paid_by_their_difference() -> None:
    change = changed(shop(), ITEMS, swap(PENDING, [RED], [BLUE], SMALL_GIFT))
    after = change.orders[PENDING]
    assert after["status"] == "pending (item modified)"
    assert [one["item_id"] for one in after["items"]] == [BLUE, RED, BLUE]
    assert after["items"][0]["price"] == 20.3
    assert after["items"][0]["options"] == {"color": BLUE}
    entry = after["payment_history"][-1]
    assert (entry["transaction_type"], entry["payment_method_id"]) == ("payment", SMALL_GIFT)
    assert entry["amount"] == 20.3 - 10.1  # not rounded
    assert balance(change.users[USER], SMALL_GIFT) == 0.0


def test_cheaper_items_are_refunded() -> None:
    change = changed(shop(), ITEMS, swap(PENDING, [RED, RED], [GREEN, GREEN], GIFT))
    entry = change.orders[PENDING]["payment_history"][-1]
    assert (entry["transaction_type"], round(entry["amount"], 2)) == ("refund", 10.1)
    assert balance(change.users[USER], GIFT) == 60.1


def test_an_item_may_be_changed_for_itself_with_an_empty_refund() -> None:
    entry = changed_order(shop(), ITEMS, swap(PENDING, [RED], [RED]))["payment_history"][-1]
    assert (entry["transaction_type"], entry["amount"]) == ("refund", 0)


def test_items_are_replaced_one_after_the_other_each_the_first_with_the_old_id() -> None:
    records = shop(pending=order(PENDING, "pending", RED, BLUE))
    after = changed_order(records, ITEMS, swap(PENDING, [RED, BLUE], [BLUE, GREEN]))
    assert [one["item_id"] for one in after["items"]] == [GREEN, BLUE]


def test_an_exchange_is_only_requested() -> None:
    records = shop()
    change = changed(records, EXCHANGE, swap(DELIVERED, [RED, BLUE, RED], [GREEN, RED, BLUE], GIFT))
    after = change.orders[DELIVERED]
    assert after["status"] == "exchange requested"
    assert (after["exchange_items"], after["exchange_new_items"]) == ([BLUE, RED, RED], [BLUE, GREEN, RED])
    assert (after["exchange_payment_method_id"], after["exchange_price_difference"]) == (GIFT, -5.05)
    assert after["items"] == records.orders[DELIVERED]["items"]
    assert after["payment_history"] == records.orders[DELIVERED]["payment_history"]
    assert not change.users


@pytest.mark.parametrize("method", [GIFT, CARD])
def test_a_return_goes_to_a_gift_card_or_to_what_paid_the_order(method: str) -> None:
    wanted: Kwargs = {"order_id": DELIVERED, "item_ids": [RED, BLUE], "payment_method_id": method}
    after = changed_order(shop(), RETURN, wanted)
    assert (after["status"], after["return_items"]) == ("return requested", [BLUE, RED])
    assert after["return_payment_method_id"] == method


REFUSED: list[tuple[str, Kwargs, str]] = [
    (CANCEL, {"order_id": "#W9", "reason": "no longer needed"}, "order_not_found"),
    (CANCEL, {"order_id": DELIVERED, "reason": "no longer needed"}, "order_not_pending"),
    (CANCEL, {"order_id": "#W3", "reason": "no longer needed"}, "order_not_pending"),
    (CANCEL, {"order_id": PENDING, "reason": "No longer needed"}, "reason_not_allowed"),
    ("modify_pending_order_address", to(AWAY, order_id="#W3"), "order_not_pending"),
    ("modify_user_address", to(AWAY, user_id="nobody"), "user_not_found"),
    (PAYMENT, {"order_id": "#W3", "payment_method_id": GIFT}, "order_not_pending"),
    (PAYMENT, {"order_id": PENDING, "payment_method_id": "gift_card_9"}, "payment_method_not_found"),
    (PAYMENT, {"order_id": PENDING, "payment_method_id": CARD}, "payment_method_unchanged"),
    (PAYMENT, {"order_id": PENDING, "payment_method_id": SMALL_GIFT}, "insufficient_balance"),
    (ITEMS, swap("#W3", [RED], [BLUE]), "order_not_pending"),
    (ITEMS, swap(PENDING, [RED, RED, RED], [BLUE, BLUE, BLUE]), "item_not_in_order"),
    (ITEMS, swap(PENDING, [GREEN], [BLUE]), "item_not_in_order"),
    (ITEMS, swap(PENDING, [RED], [BLUE, BLUE]), "item_count_mismatch"),
    (ITEMS, swap(PENDING, [RED], [SOLD_OUT]), "item_not_available"),
    (ITEMS, swap(PENDING, [RED], ["lid"]), "item_not_available"),
    (ITEMS, swap(PENDING, [RED], ["nothing"]), "item_not_available"),
    (ITEMS, swap(PENDING, [RED], [BLUE], "paypal_9"), "payment_method_not_found"),
    (ITEMS, swap(PENDING, [RED, RED], [BLUE, BLUE], SMALL_GIFT), "insufficient_balance"),
    (EXCHANGE, swap(PENDING, [RED], [BLUE]), "order_not_delivered"),
    (EXCHANGE, swap(DELIVERED, [RED, RED], [BLUE, BLUE], SMALL_GIFT), "insufficient_balance"),
    (EXCHANGE, swap(DELIVERED, [RED], [SOLD_OUT]), "item_not_available"),
    (EXCHANGE, swap(DELIVERED, [RED], [BLUE], "paypal_9"), "payment_method_not_found"),
    (RETURN, {"order_id": PENDING, "item_ids": [RED], "payment_method_id": CARD}, "order_not_delivered"),
    (RETURN, {"order_id": DELIVERED, "item_ids": [GREEN], "payment_method_id": CARD}, "item_not_in_order"),
    (RETURN, {"order_id": DELIVERED, "item_ids": [RED] * 3, "payment_method_id": CARD}, "item_not_in_order"),
    (RETURN, {"order_id": DELIVERED, "item_ids": [RED], "payment_method_id": "paypal_1"}, "payment_method_not_allowed"),
    (RETURN, {"order_id": DELIVERED, "item_ids": [RED], "payment_method_id": "paypal_9"}, "payment_method_not_found"),
    ("find_user_id_by_email", {"email": "ann@example.com"}, "user_not_found"),
    ("find_user_id_by_name_zip", {"first_name": "Ann", "last_name": "Lee", "zip": "1"}, "user_not_found"),
    ("get_user_details", {"user_id": "nobody"}, "user_not_found"),
    ("get_order_details", {"order_id": "W1"}, "order_not_found"),
    ("get_product_details", {"product_id": RED}, "product_not_found"),
    ("get_product_details", {"product_id": 1}, "arguments_not_valid"),
    ("get_product_details", {}, "arguments_not_valid"),
    ("list_all_product_types", {"page": 2}, "arguments_not_valid"),
    ("delete_order", {"order_id": PENDING}, "operation_not_found"),
]


@pytest.mark.parametrize(("name", "kwargs", "code"), REFUSED)
def test_what_the_rules_do_not_allow_is_refused_with_a_code(name: str, kwargs: Kwargs, code: str) -> None:
    assert refusal(shop(), name, kwargs) == code


def test_a_payment_moves_only_once() -> None:
    records = shop()
    paid = changed(records, PAYMENT, {"order_id": PENDING, "payment_method_id": GIFT})
    records = records.over(paid.users, paid.orders)
    assert refusal(records, PAYMENT, {"order_id": PENDING, "payment_method_id": CARD}) == "payment_changed_before"


@pytest.mark.parametrize(
    ("expression", "value"),
    [("10.10 + 2 * (3 - 1)", 14.1), ("-7 / 3", -2.33), (" 1 ", 1.0), ("0.1+0.2", 0.3), ("(1.5)", 1.5)],
)
def test_arithmetic_has_two_decimals(expression: str, value: float) -> None:
    assert answer("calculate", expression=expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        *("", "1 +", "*1", "1 / 0", "2 ** 9", "7 // 2", "1e3", "abs(1)", "(1)(2)", "1,2", "1\n+1", "()", "(" * 250),
        *("__import__('os')", "1" * 501, "9" * 400 + "*1", "9" * 200 + ".*" + "9" * 200 + "."),
    ],
)
def test_what_is_no_arithmetic_is_refused_and_never_run(expression: str) -> None:
    assert refusal(shop(), "calculate", {"expression": expression}) == "expression_not_valid"


def test_reads_answer_from_the_records() -> None:
    assert answer("find_user_id_by_email", email="ann.lee@EXAMPLE.com") == USER
    assert answer("find_user_id_by_name_zip", first_name="Ann", last_name="lee", zip=HOME["zip"]) == USER
    assert answer("get_user_details", user_id=USER) == shop().users[USER]
    assert answer("get_order_details", order_id=PENDING) == shop().orders[PENDING]
    assert answer("get_product_details", product_id="1") == shop().products["1"]
    assert answer("list_all_product_types") == {"Lid": "2", "Mug": "1"}
    assert answer("transfer_to_human_agents", summary="Help.") == "Transfer successful"


def test_there_are_seven_writes_and_eight_reads() -> None:
    writes = {operation.name for operation in OPERATIONS.values() if isinstance(operation, Write)}
    assert len(OPERATIONS) == 15
    assert writes == {CANCEL, PAYMENT, ITEMS, EXCHANGE, RETURN, "modify_pending_order_address", "modify_user_address"}
