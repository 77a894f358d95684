"""Questions that lead to a write: which order, which item, which variant, where several match.

A choice decides nothing. Its options lead to the write that was asked about, which is planned with what was chosen and
still has to be confirmed. Reference examples (names, colours, sizes) help a model to understand words like "the blue one";
an example that several options share tells nothing apart and is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from intention_kernel.agent import (
    CapabilityDefinition,
    CapabilityExecutionContext,
    CapabilityGuidance,
    CapabilityIssue,
    CapabilityResult,
    Interaction,
    InteractionOption,
)
from pydantic import Field, TypeAdapter

from examples.retail.capabilities.results import completed, for_customer
from examples.retail.capabilities.told import item_words, options_words, order_words, variant_words
from examples.retail.customer import Customer, RefusedError
from examples.retail.records import Item, Order, Product, Variant
from examples.retail.rules.arguments import Arguments, OfOrder
from examples.retail.rules.finding import DELIVERED, PENDING

OrderWrite = Literal[
    "cancel_pending_order",
    "modify_pending_order_address",
    "modify_pending_order_payment",
    "modify_pending_order_items",
    "exchange_delivered_order_items",
    "return_delivered_order_items",
]
ItemWrite = Literal["modify_pending_order_items", "exchange_delivered_order_items", "return_delivered_order_items"]
VariantWrite = Literal["modify_pending_order_items", "exchange_delivered_order_items"]

_FOR = Field(description="The operation that the choice is for")
_LONGEST_EXAMPLE = 256
_MOST_EXAMPLES = 32
_PRODUCT = TypeAdapter(Product)


class WhichOrder(Arguments):
    """An order for an operation."""

    operation: Annotated[OrderWrite, _FOR]


class WhichItem(OfOrder):
    """An item of an order for an operation."""

    operation: Annotated[ItemWrite, _FOR]


class WhichVariant(OfOrder):
    """A variant in the place of an item."""

    operation: Annotated[VariantWrite, _FOR]
    item_id: str


async def choose_order(context: CapabilityExecutionContext, customer: Customer, wanted: WhichOrder) -> CapabilityResult:
    """The customer's orders that the operation is possible for; where there is only one, nothing is asked."""
    status = PENDING if "pending" in wanted.operation else DELIVERED
    orders = [await customer.order(order_id) for order_id in (await customer.record())["orders"]]
    fitting = [order for order in orders if order["status"] == status]
    ids = [order["order_id"] for order in fitting]
    if not fitting:
        raise RefusedError(CapabilityIssue("order_not_found", f"None of your orders is {status}."))
    if len(fitting) == 1:
        return completed(ids, f"order:{ids[0]}", f"You have one: {order_words(fitting[0])}")
    goal = f"Which of your orders do you mean: {'; '.join(map(_order_label, fitting))}?"
    examples = [[item["name"] for item in order["items"]] for order in fitting]
    question = _question(
        context, goal, wanted.operation, list(zip(ids, map(_order_label, fitting), examples, strict=True))
    )
    return completed(ids, f"orders:{customer.user_id}", goal, interaction=question)


async def choose_item(context: CapabilityExecutionContext, customer: Customer, wanted: WhichItem) -> CapabilityResult:
    """The items of one of the customer's orders, each once."""
    order = await customer.order(wanted.order_id)
    items = {item["item_id"]: item for item in order["items"]}
    goal = f"Which item of order {wanted.order_id} do you mean?"
    options = [(id, item_words(item), [item["name"], *_examples(item)]) for id, item in items.items()]
    return _asked(context, order, goal, wanted.operation, options)


async def choose_variant(
    context: CapabilityExecutionContext, customer: Customer, wanted: WhichVariant
) -> CapabilityResult:
    """The other variants of an item's product that can be had."""
    order = await customer.order(wanted.order_id)
    item = next((item for item in order["items"] if item["item_id"] == wanted.item_id), None)
    if item is None:
        words = f"Order {wanted.order_id} does not hold {wanted.item_id}."
        raise RefusedError(CapabilityIssue("item_not_in_order", words))
    answer = await customer.read("get_product_details", {"product_id": item["product_id"]})
    variants = _PRODUCT.validate_python(answer)["variants"].values()
    others = [one for one in variants if one["available"] and one["item_id"] != wanted.item_id]
    if not others:
        raise RefusedError(CapabilityIssue("item_not_available", f"There is no other {item['name']} at the moment."))
    goal = f"Which {item['name']} would you like in the place of the one with {options_words(item['options'])}?"
    options = [(one["item_id"], variant_words(one), _examples(one)) for one in others]
    return _asked(context, order, goal, wanted.operation, options)


_Option = tuple[str, str, list[str]]
"""Its id, which is its value too; its label; words that may mean it."""


def _asked(
    context: CapabilityExecutionContext, order: Order, goal: str, leads_to: str, options: Sequence[_Option]
) -> CapabilityResult:
    question = _question(context, goal, leads_to, options)
    message = "\n".join([goal, *(f"- {label}" for _, label, _ in options)])
    evidence_id = f"order:{order['order_id']}"
    return completed([id for id, _, _ in options], evidence_id, message, interaction=question)


def _question(context: CapabilityExecutionContext, goal: str, leads_to: str, options: Sequence[_Option]) -> Interaction:
    shared = Counter(example.casefold() for _, _, examples in options for example in set(examples))
    return Interaction(
        id=context.new_id("question"),
        kind="choice",
        goal=goal,
        mode="optional",
        options=tuple(
            InteractionOption(
                id=id,
                label=label,
                value=id,
                target_capability_id=leads_to,
                reference_examples=tuple(_usable(example for example in examples if shared[example.casefold()] == 1)),
            )
            for id, label, examples in options
        ),
    )


def _usable(examples: Iterable[str]) -> list[str]:
    kept = [example for example in dict.fromkeys(examples) if example.strip() and len(example) <= _LONGEST_EXAMPLE]
    return kept[:_MOST_EXAMPLES]


def _examples(thing: Item | Variant) -> list[str]:
    """A colour, a size: the values of its options."""
    return list(thing["options"].values())


def _order_label(order: Order) -> str:
    return f"{order['order_id']} ({', '.join(item['name'] for item in order['items'])})"


CHOICES = (
    CapabilityDefinition(
        id="choose_order",
        description="Ask which of the customer's orders an operation is for",
        effect="read",
        input=WhichOrder,
        output=list[str],
        execute=for_customer(choose_order),
        guidance=CapabilityGuidance(
            when_to_use=("The customer wants an order changed and does not say which",),
            when_not_to_use=("The order's id is known",),
            examples=("cancel my order",),
        ),
    ),
    CapabilityDefinition(
        id="choose_item",
        description="Ask which item of an order an operation is for",
        effect="read",
        input=WhichItem,
        output=list[str],
        execute=for_customer(choose_item),
        guidance=CapabilityGuidance(
            when_to_use=("The order is known, and several of its items may be meant",),
            when_not_to_use=("The item's id is known",),
            examples=("I want to send back the lamp of order #W1",),
        ),
    ),
    CapabilityDefinition(
        id="choose_variant",
        description="Ask which variant of the same product is wanted in the place of an item",
        effect="read",
        input=WhichVariant,
        output=list[str],
        execute=for_customer(choose_variant),
        guidance=CapabilityGuidance(
            when_to_use=("The order and the item are known, and several variants may be meant",),
            when_not_to_use=("The new item's id is known",),
            examples=("I would rather have it in blue",),
        ),
    ),
)
