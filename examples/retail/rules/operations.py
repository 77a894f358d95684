"""The shop's operations by name: pure functions from records and arguments to what is to happen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from examples.retail.records import Records
from examples.retail.rules.arguments import (
    Arguments,
    ByEmail,
    ByNameAndZip,
    Cancellation,
    Expression,
    ItemChange,
    Nothing,
    OfOrder,
    OfProduct,
    OfUser,
    OrderAddress,
    OrderPayment,
    Return,
    Summary,
    UserAddress,
)
from examples.retail.rules.calculator import calculate
from examples.retail.rules.customers import (
    find_user_id_by_email,
    find_user_id_by_name_zip,
    get_user_details,
    modify_user_address,
)
from examples.retail.rules.items import exchange_delivered_order_items, modify_pending_order_items
from examples.retail.rules.lookups import (
    get_order_details,
    get_product_details,
    list_all_product_types,
    transfer_to_human_agents,
)
from examples.retail.rules.outcomes import Answer, Change, Outcome, Refusal
from examples.retail.rules.pending_orders import (
    cancel_pending_order,
    modify_pending_order_address,
    modify_pending_order_payment,
)
from examples.retail.rules.returns import return_delivered_order_items

Kwargs = Mapping[str, JsonValue]
_Arguments = TypeVar("_Arguments", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Read:
    """An operation that changes nothing."""

    name: str
    perform: Callable[[Records, Kwargs], Answer | Refusal]


@dataclass(frozen=True, slots=True)
class Write:
    """An operation that changes records."""

    name: str
    perform: Callable[[Records, Kwargs], Change | Refusal]


Operation = Read | Write


def _read(model: type[_Arguments], rule: Callable[[Records, _Arguments], Answer | Refusal]) -> Read:
    def perform(records: Records, kwargs: Kwargs) -> Answer | Refusal:
        arguments = _arguments(model, kwargs)
        return arguments if isinstance(arguments, Refusal) else rule(records, arguments)

    return Read(rule.__name__, perform)


def _write(model: type[_Arguments], rule: Callable[[Records, _Arguments], Change | Refusal]) -> Write:
    def perform(records: Records, kwargs: Kwargs) -> Change | Refusal:
        arguments = _arguments(model, kwargs)
        return arguments if isinstance(arguments, Refusal) else rule(records, arguments)

    return Write(rule.__name__, perform)


def _arguments(model: type[_Arguments], kwargs: Kwargs) -> _Arguments | Refusal:
    try:
        return model.model_validate(dict(kwargs))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        return Refusal("arguments_not_valid", wrong)


_ALL: tuple[Operation, ...] = (
    _write(Cancellation, cancel_pending_order),
    _write(OrderAddress, modify_pending_order_address),
    _write(OrderPayment, modify_pending_order_payment),
    _write(ItemChange, modify_pending_order_items),
    _write(ItemChange, exchange_delivered_order_items),
    _write(Return, return_delivered_order_items),
    _write(UserAddress, modify_user_address),
    _read(ByEmail, find_user_id_by_email),
    _read(ByNameAndZip, find_user_id_by_name_zip),
    _read(OfUser, get_user_details),
    _read(OfOrder, get_order_details),
    _read(OfProduct, get_product_details),
    _read(Nothing, list_all_product_types),
    _read(Expression, calculate),
    _read(Summary, transfer_to_human_agents),
)

OPERATIONS: Mapping[str, Operation] = {operation.name: operation for operation in _ALL}
"""Every operation of the shop."""


def perform(records: Records, name: str, kwargs: Kwargs) -> Outcome:
    """What the operation comes to on these records. An unknown name or wrong arguments are refusals, too."""
    operation = OPERATIONS.get(name)
    if operation is None:
        return Refusal("operation_not_found", f"The shop has no operation {name!r}.")
    return operation.perform(records, kwargs)
