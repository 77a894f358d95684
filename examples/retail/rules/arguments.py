"""What every operation takes: exactly these members, of exactly these types."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from examples.retail.records import Address


class Arguments(BaseModel):
    """The base: no other members, no number for a text."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Nothing(Arguments):
    """No arguments."""


class OfUser(Arguments):
    """A user."""

    user_id: str


class OfOrder(Arguments):
    """An order."""

    order_id: str


class OfProduct(Arguments):
    """A product."""

    product_id: str


class WithAddress(Arguments):
    """A whole address, which replaces the old one."""

    address1: str
    address2: str
    city: str
    state: str
    country: str
    zip: str

    def address(self) -> Address:
        """It, as a record's member."""
        return Address(
            address1=self.address1,
            address2=self.address2,
            city=self.city,
            state=self.state,
            country=self.country,
            zip=self.zip,
        )


class UserAddress(OfUser, WithAddress):
    """`modify_user_address`."""


class OrderAddress(OfOrder, WithAddress):
    """`modify_pending_order_address`."""


class Cancellation(OfOrder):
    """`cancel_pending_order`."""

    reason: str


class OrderPayment(OfOrder):
    """`modify_pending_order_payment`."""

    payment_method_id: str


class Return(OfOrder):
    """`return_delivered_order_items`; an item id occurs once for every piece."""

    item_ids: list[str]
    payment_method_id: str


class ItemChange(OfOrder):
    """`modify_pending_order_items` and `exchange_delivered_order_items`; new item n takes the place of item n."""

    item_ids: list[str]
    new_item_ids: list[str]
    payment_method_id: str


class ByEmail(Arguments):
    """`find_user_id_by_email`."""

    email: str


class ByNameAndZip(Arguments):
    """`find_user_id_by_name_zip`."""

    first_name: str
    last_name: str
    zip: str


class Expression(Arguments):
    """`calculate`."""

    expression: str


class Summary(Arguments):
    """`transfer_to_human_agents`."""

    summary: str
