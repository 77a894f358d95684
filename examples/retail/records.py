"""The shop's records, as the files hold them: users, products and orders, each a map from id to record.

Members that this example does not know are kept as they are. Nobody changes a record in place: a rule copies it first,
so that every world can share the records of the files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NotRequired, TypeVar

from intention_kernel.errors import ConfigurationError
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

EXTRACT = Path(__file__).parent / "data"
"""The folder of the extract that comes with the example."""

_KEPT_WHOLE = ConfigDict(extra="allow", strict=True)


@with_config(_KEPT_WHOLE)
class Address(TypedDict):
    """Where an order goes, or where a user lives."""

    address1: str
    address2: str
    city: str
    state: str
    country: str
    zip: str


@with_config(_KEPT_WHOLE)
class Name(TypedDict):
    """A user's name."""

    first_name: str
    last_name: str


@with_config(_KEPT_WHOLE)
class PaymentMethod(TypedDict):
    """One way to pay; only gift cards have a balance, which is rounded to cents."""

    id: str
    source: str
    balance: NotRequired[float]


@with_config(_KEPT_WHOLE)
class User(TypedDict):
    """A customer."""

    name: Name
    address: Address
    email: str
    payment_methods: dict[str, PaymentMethod]
    orders: list[str]


@with_config(_KEPT_WHOLE)
class Variant(TypedDict):
    """One thing that can be bought, by item id."""

    item_id: str
    options: dict[str, str]
    available: bool
    price: float


@with_config(_KEPT_WHOLE)
class Product(TypedDict):
    """A kind of thing, with its variants by item id."""

    name: str
    product_id: str
    variants: dict[str, Variant]


@with_config(_KEPT_WHOLE)
class Item(TypedDict):
    """A variant in an order, at the price it was bought for."""

    name: str
    product_id: str
    item_id: str
    price: float
    options: dict[str, str]


@with_config(_KEPT_WHOLE)
class Payment(TypedDict):
    """Money that moved, to the shop or back."""

    transaction_type: Literal["payment", "refund"]
    amount: float
    payment_method_id: str


@with_config(_KEPT_WHOLE)
class Order(TypedDict):
    """An order; the members that are not required come with a cancellation, an exchange or a return."""

    order_id: str
    user_id: str
    address: Address
    items: list[Item]
    status: str
    payment_history: list[Payment]
    cancel_reason: NotRequired[str]
    exchange_items: NotRequired[list[str]]
    exchange_new_items: NotRequired[list[str]]
    exchange_payment_method_id: NotRequired[str]
    exchange_price_difference: NotRequired[float]
    return_items: NotRequired[list[str]]
    return_payment_method_id: NotRequired[str]


@with_config(ConfigDict(extra="forbid"))
class Changes(TypedDict, total=False):
    """The records of a world that differ from the files, by table and id; a table without any is left out."""

    users: dict[str, User]
    products: dict[str, Product]
    orders: dict[str, Order]


USER = TypeAdapter(User)
ORDER = TypeAdapter(Order)
_USERS = TypeAdapter(dict[str, User])
_PRODUCTS = TypeAdapter(dict[str, Product])
_ORDERS = TypeAdapter(dict[str, Order])

_Record = TypeVar("_Record", User, Order)


@dataclass(frozen=True, slots=True)
class Records:
    """What a rule sees: the records of the files, or of one world over them."""

    users: Mapping[str, User]
    products: Mapping[str, Product]
    orders: Mapping[str, Order]

    def over(self, users: Mapping[str, User], orders: Mapping[str, Order]) -> Records:
        """These records with others in front of them; no record is copied."""
        return Records({**self.users, **users}, self.products, {**self.orders, **orders})

    def changes(self, users: Mapping[str, User], orders: Mapping[str, Order]) -> Changes:
        """Which of `users` and `orders` differ from these records. No operation changes a product."""
        changes = Changes()
        if changed_users := _different(users, self.users):
            changes["users"] = changed_users
        if changed_orders := _different(orders, self.orders):
            changes["orders"] = changed_orders
        return changes

    def fingerprint(self) -> str:
        """SHA-256 of all records, in hex, whatever the order of their members."""
        tables = [dict(self.users), dict(self.products), dict(self.orders)]
        return hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()


def load_records(folder: Path) -> Records:
    """The records of `users.json`, `products.json` and `orders.json`; ConfigurationError where they cannot be read."""
    try:
        return Records(
            users=_USERS.validate_json((folder / "users.json").read_bytes()),
            products=_PRODUCTS.validate_json((folder / "products.json").read_bytes()),
            orders=_ORDERS.validate_json((folder / "orders.json").read_bytes()),
        )
    except (OSError, ValidationError) as error:
        raise ConfigurationError(f"{folder} does not hold the records of a shop: {error}") from None


def _different(records: Mapping[str, _Record], originals: Mapping[str, _Record]) -> dict[str, _Record]:
    return {id: record for id, record in records.items() if record != originals.get(id)}
