"""What can be changed: the seven writes of the shop. The kernel asks for each, and a yes resumes exactly what was shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from intention_kernel.agent import (
    CapabilityDefinition,
    CapabilityExecutionContext,
    CapabilityGuidance,
    CapabilityResult,
    EffectNotAppliedError,
    FactReference,
    Failed,
    Lookup,
    Summary,
)
from intention_kernel.contracts.json_codec import JsonValue
from pydantic import BaseModel

from examples.retail.capabilities.effects import (
    CALL_TIMEOUT_SECONDS,
    KEYS_KEPT_SECONDS,
    find_at_shop,
    issue_of,
    write_at_shop,
)
from examples.retail.capabilities.results import CUSTOMER, ORDER, completed, for_customer
from examples.retail.capabilities.told import order_words, user_words
from examples.retail.customer import Customer
from examples.retail.records import ORDER as ORDER_RECORD
from examples.retail.records import USER as USER_RECORD
from examples.retail.rules.arguments import (
    Cancellation,
    ItemChange,
    OfOrder,
    OrderAddress,
    OrderPayment,
    Return,
    UserAddress,
)
from examples.retail.shop_client import ShopOutcome

CONFIRMATION_SECONDS = 86_400.0

_ASK_WHICH = (
    "The customer does not say which order or items: ask with choose_order, choose_item or choose_variant first"
)

_Wanted = TypeVar("_Wanted", bound=BaseModel)


async def change_order(context: CapabilityExecutionContext, customer: Customer, wanted: OfOrder) -> CapabilityResult:
    """One of the writes on an order; the changed order is told."""
    outcome = await _written(context, customer, wanted)
    if isinstance(outcome, Failed):
        return outcome
    order = ORDER_RECORD.validate_python(outcome["result"])
    message = f"Done ({outcome['reference']}). {order_words(order)}"
    return completed(outcome, outcome["reference"], message)


async def change_user(context: CapabilityExecutionContext, customer: Customer, wanted: UserAddress) -> CapabilityResult:
    """The write on the customer's own record; the changed record is told."""
    outcome = await _written(context, customer, wanted)
    if isinstance(outcome, Failed):
        return outcome
    user = USER_RECORD.validate_python(outcome["result"])
    message = f"Done ({outcome['reference']}). {user_words(customer.user_id, user)}"
    return completed(outcome, outcome["reference"], message)


async def _written(context: CapabilityExecutionContext, customer: Customer, wanted: BaseModel) -> ShopOutcome | Failed:
    """The shop's outcome under the key of the confirmed intention, or its refusal."""
    operation = context.execution.capability_id
    try:
        effect = await context.run_effect(context.intention.id, write_at_shop(customer, operation, wanted))
    except EffectNotAppliedError as refused:
        return Failed(issue_of(refused))
    return cast("ShopOutcome", effect.value)


def _of_order(title: str) -> Callable[[JsonValue], Summary]:
    def describe(payload: JsonValue) -> Summary:
        return Summary(f"{title} order {cast('dict[str, JsonValue]', payload)['order_id']}", "shop")

    return describe


def _new_home(_: JsonValue) -> Summary:
    return Summary("the change of your address", "shop")


def _write(
    name: str,
    description: str,
    wanted: type[_Wanted],
    act: Callable[[CapabilityExecutionContext, Customer, _Wanted], Awaitable[CapabilityResult]],
    describe: Callable[[JsonValue], Summary],
    invalidates: tuple[FactReference, ...] = (ORDER,),
    when_not: str = _ASK_WHICH,
) -> CapabilityDefinition:
    return CapabilityDefinition(
        id=name,
        description=description,
        effect="write",
        confirmation="required",
        expires_seconds=CONFIRMATION_SECONDS,
        input=wanted,
        output=ShopOutcome,
        execute=for_customer(act),
        invalidates=invalidates,
        guidance=CapabilityGuidance(when_not_to_use=(when_not,)),
        describe=describe,
        resolver=Lookup(find_at_shop),
        call_timeout_seconds=CALL_TIMEOUT_SECONDS,
        provider_deduplicates=True,
        key_window_seconds=KEYS_KEPT_SECONDS,
    )


_ORDER_AND_MONEY = (ORDER, CUSTOMER)
"""What was known of them is old: money moves, so balances of gift cards do too."""

WRITES = (
    _write(
        "cancel_pending_order",
        "Cancel a pending order; the reason is 'no longer needed' or 'ordered by mistake'",
        Cancellation,
        change_order,
        _of_order("the cancellation of"),
        invalidates=_ORDER_AND_MONEY,
    ),
    _write(
        "modify_pending_order_address",
        "Send a pending order to another address",
        OrderAddress,
        change_order,
        _of_order("the new address of"),
    ),
    _write(
        "modify_pending_order_payment",
        "Pay a pending order with another payment method of the customer",
        OrderPayment,
        change_order,
        _of_order("the new payment of"),
        invalidates=_ORDER_AND_MONEY,
    ),
    _write(
        "modify_pending_order_items",
        "Replace items of a pending order by other variants of the same products; possible once, so collect all items first",
        ItemChange,
        change_order,
        _of_order("the change of items in"),
        invalidates=_ORDER_AND_MONEY,
    ),
    _write(
        "exchange_delivered_order_items",
        "Exchange items of a delivered order for other variants of the same products; possible once",
        ItemChange,
        change_order,
        _of_order("the exchange of items of"),
    ),
    _write(
        "return_delivered_order_items",
        "Return items of a delivered order; the money goes to a gift card or to the method that paid",
        Return,
        change_order,
        _of_order("the return of items of"),
    ),
    _write(
        "modify_user_address",
        "Change the customer's own address; addresses of orders stay",
        UserAddress,
        change_user,
        _new_home,
        invalidates=(CUSTOMER,),
        when_not="The address of an order is meant, not the customer's own",
    ),
)
