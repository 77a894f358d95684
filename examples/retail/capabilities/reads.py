"""What can be looked up: one capability for every operation of the shop that changes nothing."""

from __future__ import annotations

from typing import TypeVar, cast

from intention_kernel.agent import (
    CapabilityDefinition,
    CapabilityExecutionContext,
    CapabilityGuidance,
    CapabilityIssue,
    CapabilityResult,
    FactDeclaration,
)
from intention_kernel.agent.schema import SchemaSource
from pydantic import BaseModel, TypeAdapter

from examples.retail.capabilities.results import CUSTOMER, ORDER, Act, completed, for_customer
from examples.retail.capabilities.told import order_words, product_words, types_words, user_words
from examples.retail.customer import Customer, RefusedError
from examples.retail.records import Order, Product, User
from examples.retail.rules.arguments import (
    ByEmail,
    ByNameAndZip,
    Expression,
    Nothing,
    OfOrder,
    OfProduct,
    OfUser,
    Summary,
)

_Wanted = TypeVar("_Wanted", bound=BaseModel)

_PRODUCT = TypeAdapter(Product)
_TYPES = TypeAdapter(dict[str, str])


async def find_by_email(_: CapabilityExecutionContext, customer: Customer, wanted: ByEmail) -> CapabilityResult:
    """The customer's own id, if this is the customer's address. Others are not looked for."""
    if (await customer.record())["email"].lower() != wanted.email.lower():
        raise _not_you()
    return _found(customer)


async def find_by_name(_: CapabilityExecutionContext, customer: Customer, wanted: ByNameAndZip) -> CapabilityResult:
    """The customer's own id, if this is the customer's name and present zip code. Others are not looked for."""
    record = await customer.record()
    own = (record["name"]["first_name"].lower(), record["name"]["last_name"].lower(), record["address"]["zip"])
    if own != (wanted.first_name.lower(), wanted.last_name.lower(), wanted.zip):
        raise _not_you()
    return _found(customer)


async def tell_user(_: CapabilityExecutionContext, customer: Customer, wanted: OfUser) -> CapabilityResult:
    """The customer's account, and a fact of it."""
    user = await customer.record()
    known = {"user_id": customer.user_id, **user}
    return completed(user, f"user:{customer.user_id}", user_words(customer.user_id, user), CUSTOMER, known)


async def tell_order(_: CapabilityExecutionContext, customer: Customer, wanted: OfOrder) -> CapabilityResult:
    """One of the customer's orders, and a fact of it."""
    order = await customer.order(wanted.order_id)
    return completed(order, f"order:{wanted.order_id}", order_words(order), ORDER, order)


async def tell_product(_: CapabilityExecutionContext, customer: Customer, wanted: OfProduct) -> CapabilityResult:
    """A product with its variants."""
    answer = await customer.read("get_product_details", {"product_id": wanted.product_id})
    product = _PRODUCT.validate_python(answer)
    return completed(product, f"product:{wanted.product_id}", product_words(product))


async def tell_types(_: CapabilityExecutionContext, customer: Customer, wanted: Nothing) -> CapabilityResult:
    """Every kind of product."""
    types = _TYPES.validate_python(await customer.read("list_all_product_types", {}))
    return completed(types, "product-types", types_words(types))


async def calculate(_: CapabilityExecutionContext, customer: Customer, wanted: Expression) -> CapabilityResult:
    """Arithmetic by the shop, so that no model has to do sums."""
    value = cast("float", await customer.read("calculate", {"expression": wanted.expression}))
    return completed(value, "calculation", f"{wanted.expression.strip()} = {value:.2f}")


async def transfer(_: CapabilityExecutionContext, customer: Customer, wanted: Summary) -> CapabilityResult:
    """A person of the shop takes over."""
    answer = cast("str", await customer.read("transfer_to_human_agents", {"summary": wanted.summary}))
    return completed(
        answer, "transfer", f"{answer}: a person of the shop goes on with this. They read: {wanted.summary}"
    )


def _found(customer: Customer) -> CapabilityResult:
    return completed(customer.user_id, f"user:{customer.user_id}", f"Your user id is {customer.user_id}.")


def _not_you() -> RefusedError:
    return RefusedError(CapabilityIssue("user_not_found", "There is no such user in this conversation."))


def _read(
    name: str,
    description: str,
    wanted: type[_Wanted],
    output: SchemaSource,
    act: Act[_Wanted],
    provides: tuple[FactDeclaration, ...] = (),
    when: str = "",
) -> CapabilityDefinition:
    return CapabilityDefinition(
        id=name,
        description=description,
        effect="read",
        input=wanted,
        output=output,
        execute=for_customer(act),
        provides=provides,
        guidance=CapabilityGuidance(when_to_use=(when,)) if when else None,
    )


READS = (
    _read("find_user_id_by_email", "Check the customer's user id by e-mail address", ByEmail, str, find_by_email),
    _read(
        "find_user_id_by_name_zip", "Check the customer's user id by name and zip code", ByNameAndZip, str, find_by_name
    ),
    _read(
        "get_user_details",
        "Tell the customer's account: address, payment methods with balances, order ids",
        OfUser,
        User,
        tell_user,
        (FactDeclaration(CUSTOMER.type),),
        "Payment method ids or the customer's order ids are needed and not known",
    ),
    _read(
        "get_order_details",
        "Tell one order: status, items with their ids, address, payments",
        OfOrder,
        Order,
        tell_order,
        (FactDeclaration(ORDER.type),),
        "Details of an order, such as item ids, are needed before it is changed",
    ),
    _read(
        "get_product_details",
        "Tell a product's variants with item ids, prices and availability",
        OfProduct,
        Product,
        tell_product,
        when="New item ids are needed for a change of items; a product id is not an item id",
    ),
    _read(
        "list_all_product_types", "List every kind of product with its product id", Nothing, dict[str, str], tell_types
    ),
    _read(
        "calculate",
        "Calculate with numbers, + - * / and brackets",
        Expression,
        float,
        calculate,
        when="Sums of prices or differences are to be told",
    ),
    _read(
        "transfer_to_human_agents",
        "Hand the conversation to a person of the shop",
        Summary,
        str,
        transfer,
        when="The customer asks for a person, or wants what no other operation does",
    ),
)
