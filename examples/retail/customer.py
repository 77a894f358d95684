"""Who speaks: the customer and the world, from the host alone, and what of the shop is this customer's.

No model has a say in it. The shop itself knows no customers: whoever may call it may read and change everything. So every
capability comes through here, and a record that is not the customer's is refused before the shop is asked for it, in the
words that the shop has for a record that does not exist: nothing can be learned of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, cast

from intention_kernel.agent import CapabilityExecutionContext, CapabilityIssue, Ports
from intention_kernel.contracts.json_codec import JsonValue
from pydantic import BaseModel

from examples.retail.records import ORDER, USER, Order, User
from examples.retail.shop_client import ShopClient, ShopRefused

SHOP = "shop"
"""The name of the port."""

NOT_SIGNED_IN = CapabilityIssue("not_signed_in", "Please sign in first: I do not know who you are.")


class RefusedError(Exception):
    """It cannot be done, and the customer is told the issue."""

    def __init__(self, issue: CapabilityIssue) -> None:
        super().__init__(issue.message)
        self.issue = issue


def signed_in(host_context: JsonValue | Mapping[str, JsonValue]) -> tuple[str, str] | None:
    """The customer's user id and world as the host gives them; None where it does not."""
    if not isinstance(host_context, Mapping):
        return None
    user_id, world = host_context.get("userId"), host_context.get("world")
    if isinstance(user_id, str) and user_id and isinstance(world, str) and world:
        return user_id, world
    return None


def shop_of(ports: Ports) -> ShopClient:
    """The shop that the application opened."""
    return cast("ShopClient", ports[SHOP])


@dataclass(frozen=True, slots=True)
class Customer:
    """The customer of this turn, and the shop as far as this customer reaches."""

    user_id: str
    world: str
    shop: ShopClient

    @classmethod
    def of(cls, context: CapabilityExecutionContext) -> Self:
        """The customer that the host has signed in; RefusedError where it has not."""
        found = signed_in(context.turn.host_context)
        if found is None:
            raise RefusedError(NOT_SIGNED_IN)
        return cls(*found, shop_of(context.ports))

    async def record(self) -> User:
        """The customer's own record; RefusedError where the shop has none."""
        return USER.validate_python(await self.read("get_user_details", {"user_id": self.user_id}))

    async def order(self, order_id: str) -> Order:
        """An order of the customer's; RefusedError where it is not."""
        await self.must_own(order_id)
        return ORDER.validate_python(await self.read("get_order_details", {"order_id": order_id}))

    async def read(self, operation: str, kwargs: Mapping[str, JsonValue]) -> JsonValue:
        """What the shop answers; RefusedError with its words where it refuses. It is for the caller to know whose it is."""
        try:
            return await self.shop.read(self.world, operation, kwargs)
        except ShopRefused as refusal:
            raise RefusedError(CapabilityIssue(refusal.code, refusal.message)) from refusal

    async def must_reach(self, wanted: BaseModel) -> None:
        """RefusedError where an input names an order or a user that is not the customer's, whatever its operation.

        The members are those of the published operations; an input without any of them is about nobody's record.
        """
        named = wanted.model_dump()
        if "user_id" in named:
            self.must_be(named["user_id"])
        if "order_id" in named:
            await self.must_own(named["order_id"])

    def must_be(self, user_id: str) -> None:
        """RefusedError where that is another user."""
        if user_id != self.user_id:
            raise RefusedError(CapabilityIssue("user_not_found", f"There is no user {user_id!r}."))

    async def must_own(self, order_id: str) -> None:
        """RefusedError where the order is not among the customer's; the order's own record is not read for that."""
        if order_id not in (await self.record())["orders"]:
            words = f"There is no order {order_id!r} of yours; order ids begin with '#'."
            raise RefusedError(CapabilityIssue("order_not_found", words))
