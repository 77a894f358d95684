"""What several rules ask first: the record, in the state that the rule is for, or the refusal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from examples.retail.records import Order, PaymentMethod, Product, Records, User
from examples.retail.rules.outcomes import Refusal

PENDING = "pending"
DELIVERED = "delivered"


def find_user(records: Records, user_id: str) -> User | Refusal:
    """That user."""
    return records.users.get(user_id) or Refusal("user_not_found", f"There is no user {user_id!r}.")


def find_order(records: Records, order_id: str) -> Order | Refusal:
    """That order, whatever its status."""
    found = records.orders.get(order_id)
    return found or Refusal("order_not_found", f"There is no order {order_id!r}; order ids begin with '#'.")


def find_product(records: Records, product_id: str) -> Product | Refusal:
    """That product."""
    found = records.products.get(product_id)
    return found or Refusal("product_not_found", f"There is no product {product_id!r}; an item id is not a product id.")


def find_order_in(records: Records, order_id: str, status: str) -> Order | Refusal:
    """That order, if its status is exactly `status`: 'pending (item modified)' is not 'pending'."""
    order = find_order(records, order_id)
    if isinstance(order, Refusal) or order["status"] == status:
        return order
    return Refusal(f"order_not_{status}", f"Order {order_id} is {order['status']!r}, and this needs {status!r}.")


def find_method(records: Records, order: Order, method_id: str) -> PaymentMethod | Refusal:
    """That payment method of the order's customer."""
    found = records.users[order["user_id"]]["payment_methods"].get(method_id)
    return found or Refusal("payment_method_not_found", f"{method_id!r} is no payment method of this customer.")


def missing_items(order: Order, item_ids: Sequence[str]) -> Refusal | None:
    """The refusal unless the order holds every item as often as it is named."""
    missing = Counter(item_ids) - Counter(item["item_id"] for item in order["items"])
    if not missing:
        return None
    return Refusal("item_not_in_order", f"Order {order['order_id']} does not hold {', '.join(sorted(missing))}.")
