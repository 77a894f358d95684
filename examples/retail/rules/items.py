"""Items for other variants of the same product: in a pending order at once, for a delivered one as a request."""

from __future__ import annotations

from dataclasses import dataclass

from examples.retail.records import Item, Order, Payment, Records, Variant
from examples.retail.rules.arguments import ItemChange
from examples.retail.rules.finding import DELIVERED, PENDING, find_method, find_order_in, missing_items
from examples.retail.rules.money import cents, charged, uncovered
from examples.retail.rules.outcomes import Change, Refusal


@dataclass(frozen=True, slots=True)
class _Swap:
    """A change of items that the rules allow; `variants` in the order of the request, `difference` is new minus old."""

    order: Order
    variants: tuple[Variant, ...]
    difference: float


def modify_pending_order_items(records: Records, wanted: ItemChange) -> Change | Refusal:
    """The items are replaced, and the difference is paid or given back at once."""
    swap = _allowed_swap(records, wanted, PENDING)
    if isinstance(swap, Refusal):
        return swap
    payment = Payment(
        transaction_type="payment" if swap.difference > 0 else "refund",
        amount=abs(swap.difference),
        payment_method_id=wanted.payment_method_id,
    )
    changed = swap.order.copy()
    changed["payment_history"] = [*swap.order["payment_history"], payment]
    changed["items"] = _replaced(swap, wanted)
    changed["status"] = "pending (item modified)"
    user = charged(records.users[changed["user_id"]], wanted.payment_method_id, swap.difference)
    return Change(changed, {wanted.order_id: changed}, {changed["user_id"]: user})


def exchange_delivered_order_items(records: Records, wanted: ItemChange) -> Change | Refusal:
    """The exchange is requested; items, payments and balances stay until the shop has the old items back."""
    swap = _allowed_swap(records, wanted, DELIVERED)
    if isinstance(swap, Refusal):
        return swap
    changed = swap.order.copy()
    changed["status"] = "exchange requested"
    changed["exchange_items"] = sorted(wanted.item_ids)
    changed["exchange_new_items"] = sorted(wanted.new_item_ids)
    changed["exchange_payment_method_id"] = wanted.payment_method_id
    changed["exchange_price_difference"] = cents(swap.difference)
    return Change(changed, {wanted.order_id: changed})


def _allowed_swap(records: Records, wanted: ItemChange, status: str) -> _Swap | Refusal:
    order = find_order_in(records, wanted.order_id, status)
    if isinstance(order, Refusal):
        return order
    if refused := missing_items(order, wanted.item_ids):
        return refused
    swap = _priced(records, order, wanted)
    if isinstance(swap, Refusal):
        return swap
    method = find_method(records, order, wanted.payment_method_id)
    if isinstance(method, Refusal):
        return method
    return uncovered(method, swap.difference) or swap


def _priced(records: Records, order: Order, wanted: ItemChange) -> _Swap | Refusal:
    if len(wanted.item_ids) != len(wanted.new_item_ids):
        return Refusal("item_count_mismatch", "Name exactly one new item for every item.")
    variants: list[Variant] = []
    difference = 0.0
    for item_id, new_item_id in zip(wanted.item_ids, wanted.new_item_ids, strict=True):
        item = order["items"][_place_of(item_id, order["items"])]
        variant = records.products[item["product_id"]]["variants"].get(new_item_id)
        if variant is None or not variant["available"]:
            return Refusal("item_not_available", f"{new_item_id!r} is no available variant of {item['name']}.")
        variants.append(variant)
        difference += variant["price"] - item["price"]
    return _Swap(order, tuple(variants), difference)


def _replaced(swap: _Swap, wanted: ItemChange) -> list[Item]:
    # One after the other, each the first that has the old id at that moment, as the published records have it.
    items = list(swap.order["items"])
    for item_id, variant in zip(wanted.item_ids, swap.variants, strict=True):
        place = _place_of(item_id, items)
        changed = items[place].copy()
        changed["item_id"] = variant["item_id"]
        changed["price"] = variant["price"]
        changed["options"] = variant["options"]
        items[place] = changed
    return items


def _place_of(item_id: str, items: list[Item]) -> int:
    return next(place for place, item in enumerate(items) if item["item_id"] == item_id)
