"""Delivered orders: items go back."""

from __future__ import annotations

from examples.retail.records import Order, PaymentMethod, Records
from examples.retail.rules.arguments import Return
from examples.retail.rules.finding import DELIVERED, find_method, find_order_in, missing_items
from examples.retail.rules.outcomes import Change, Refusal


def return_delivered_order_items(records: Records, wanted: Return) -> Change | Refusal:
    """The return is requested; the money goes to a gift card or to the method that paid the order."""
    order = find_order_in(records, wanted.order_id, DELIVERED)
    if isinstance(order, Refusal):
        return order
    method = find_method(records, order, wanted.payment_method_id)
    if isinstance(method, Refusal):
        return method
    if refused := _not_for_refunds(order, method) or missing_items(order, wanted.item_ids):
        return refused
    changed = order.copy()
    changed["status"] = "return requested"
    changed["return_items"] = sorted(wanted.item_ids)
    changed["return_payment_method_id"] = wanted.payment_method_id
    return Change(changed, {wanted.order_id: changed})


def _not_for_refunds(order: Order, method: PaymentMethod) -> Refusal | None:
    original = order["payment_history"][0]["payment_method_id"]
    if method["source"] == "gift_card" or method["id"] == original:
        return None
    return Refusal("payment_method_not_allowed", f"The money can go to a gift card or back to {original} only.")
