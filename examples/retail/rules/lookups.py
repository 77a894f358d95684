"""Reads of orders and products, and the way out to a person."""

from __future__ import annotations

from examples.retail.records import Records
from examples.retail.rules.arguments import Nothing, OfOrder, OfProduct, Summary
from examples.retail.rules.finding import find_order, find_product
from examples.retail.rules.outcomes import Answer, Refusal


def get_order_details(records: Records, wanted: OfOrder) -> Answer | Refusal:
    """The order's record."""
    order = find_order(records, wanted.order_id)
    return order if isinstance(order, Refusal) else Answer(order)


def get_product_details(records: Records, wanted: OfProduct) -> Answer | Refusal:
    """The product's record, with every variant."""
    product = find_product(records, wanted.product_id)
    return product if isinstance(product, Refusal) else Answer(product)


def list_all_product_types(records: Records, _: Nothing) -> Answer:
    """The product ids by name, sorted by name."""
    products = records.products.values()
    return Answer(dict(sorted((product["name"], product["product_id"]) for product in products)))


def transfer_to_human_agents(_: Records, __: Summary) -> Answer:
    """Nothing changes in the shop; a person reads the summary."""
    return Answer("Transfer successful")
