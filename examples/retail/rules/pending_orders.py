"""Pending orders: cancel, send elsewhere, pay otherwise."""

from __future__ import annotations

from examples.retail.records import Order, Payment, Records
from examples.retail.rules.arguments import Cancellation, OrderAddress, OrderPayment
from examples.retail.rules.finding import PENDING, find_method, find_order_in
from examples.retail.rules.money import charged, refund, uncovered
from examples.retail.rules.outcomes import Change, Refusal

REASONS = ("no longer needed", "ordered by mistake")
"""The reasons for which an order may be cancelled."""


def cancel_pending_order(records: Records, wanted: Cancellation) -> Change | Refusal:
    """Every entry of the history is refunded to its method, whatever its type; gift cards at once."""
    order = find_order_in(records, wanted.order_id, PENDING)
    if isinstance(order, Refusal):
        return order
    if wanted.reason not in REASONS:
        return Refusal("reason_not_allowed", f"The reason must be one of: {', '.join(REASONS)}.")
    user = records.users[order["user_id"]]
    for payment in order["payment_history"]:
        user = charged(user, payment["payment_method_id"], -payment["amount"])
    changed = order.copy()
    changed["status"] = "cancelled"
    changed["cancel_reason"] = wanted.reason
    changed["payment_history"] = [*order["payment_history"], *map(refund, order["payment_history"])]
    return Change(changed, {wanted.order_id: changed}, {changed["user_id"]: user})


def modify_pending_order_address(records: Records, wanted: OrderAddress) -> Change | Refusal:
    """The order goes to the new address; the customer's own address stays."""
    order = find_order_in(records, wanted.order_id, PENDING)
    if isinstance(order, Refusal):
        return order
    changed = order.copy()
    changed["address"] = wanted.address()
    return Change(changed, {wanted.order_id: changed})


def modify_pending_order_payment(records: Records, wanted: OrderPayment) -> Change | Refusal:
    """The one payment moves to another method of the customer: first the new payment, then the refund of the old."""
    order = find_order_in(records, wanted.order_id, PENDING)
    if isinstance(order, Refusal):
        return order
    method = find_method(records, order, wanted.payment_method_id)
    if isinstance(method, Refusal):
        return method
    paid = _single_payment(order)
    if isinstance(paid, Refusal):
        return paid
    if paid["payment_method_id"] == wanted.payment_method_id:
        return Refusal("payment_method_unchanged", f"The order is paid with {wanted.payment_method_id} already.")
    if refused := uncovered(method, paid["amount"]):
        return refused
    return _paid_otherwise(records, order, paid, wanted.payment_method_id)


def _single_payment(order: Order) -> Payment | Refusal:
    history = order["payment_history"]
    if len(history) == 1 and history[0]["transaction_type"] == "payment":
        return history[0]
    return Refusal("payment_changed_before", f"Order {order['order_id']} must have exactly one entry, a payment.")


def _paid_otherwise(records: Records, order: Order, paid: Payment, method_id: str) -> Change:
    payment = paid.copy()
    payment["payment_method_id"] = method_id
    changed = order.copy()
    changed["payment_history"] = [*order["payment_history"], payment, refund(paid)]
    user = charged(records.users[order["user_id"]], method_id, paid["amount"])
    user = charged(user, paid["payment_method_id"], -paid["amount"])
    return Change(changed, {changed["order_id"]: changed}, {changed["user_id"]: user})
