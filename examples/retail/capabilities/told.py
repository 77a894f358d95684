"""What the agent says of records and changes, in its own words: facts of the shop, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from examples.retail.records import Address, Item, Order, PaymentMethod, Product, User, Variant


def order_words(order: Order) -> str:
    """An order with its items, their ids, where it goes and what was paid."""
    paid = "; ".join(
        f"{p['transaction_type']} {p['amount']:.2f} by {p['payment_method_id']}" for p in order["payment_history"]
    )
    items = "\n".join(f"- {item_words(item)}" for item in order["items"])
    return f"Order {order['order_id']} is {order['status']}.\n{items}\nTo: {address_words(order['address'])}. Paid: {paid}."


def item_words(item: Item) -> str:
    """An item with what tells it from others."""
    return f"{item['name']} ({options_words(item['options'])}), {item['price']:.2f}, item {item['item_id']}"


def variant_words(variant: Variant) -> str:
    """A variant of a product."""
    return f"{options_words(variant['options'])}: {variant['price']:.2f}, item {variant['item_id']}"


def options_words(options: Mapping[str, str]) -> str:
    """Options by name."""
    return ", ".join(f"{name} {value}" for name, value in options.items()) or "one kind only"


def user_words(user_id: str, user: User) -> str:
    """The customer's account."""
    name, ways = user["name"], ", ".join(map(_method_words, user["payment_methods"].values()))
    orders = ", ".join(user["orders"]) or "none"
    return (
        f"{name['first_name']} {name['last_name']} ({user_id}), {user['email']}, {address_words(user['address'])}.\n"
        f"Payment methods: {ways or 'none'}. Orders: {orders}."
    )


def address_words(address: Address) -> str:
    """An address on one line."""
    lines = (address["address1"], address["address2"], address["city"], f"{address['state']} {address['zip']}")
    return ", ".join(line for line in (*lines, address["country"]) if line)


def product_words(product: Product) -> str:
    """A product with the variants that can be had."""
    available = [variant for variant in product["variants"].values() if variant["available"]]
    return f"{product['name']} (product {product['product_id']}), available:\n{_listed(map(variant_words, available))}"


def types_words(types: Mapping[str, str]) -> str:
    """Every kind of product."""
    return "We have: " + ", ".join(f"{name} ({product_id})" for name, product_id in types.items()) + "."


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "- none"


def _method_words(method: PaymentMethod) -> str:
    balance = method.get("balance")
    return method["id"] if balance is None else f"{method['id']} ({balance:.2f} left)"
