"""An agent that assesses and pays refunds by LangGraph graphs, behind a domain port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from intention_kernel.agent import AgentDefinition, compile_agent
from intention_kernel.application import Application
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.models.environment import gateway_from_environment
from intention_kernel.models.script import ConversationScript

from examples.nested_graph.capabilities import AS_ASSESSED, ASSESS, PAY
from examples.nested_graph.graphs import RefundGraphs
from examples.nested_graph.shop import Shop

AGENT = compile_agent(
    AgentDefinition(
        id="refunds",
        identity="The assistant of a shop, for customers who want their money back.",
        capabilities=(ASSESS, PAY),
        policies=(AS_ASSESSED,),
    )
)

_SHOP = Shop()


@asynccontextmanager
async def shop() -> AsyncIterator[Shop]:
    """The port `shop`, for as long as the process lives."""
    yield _SHOP


@asynccontextmanager
async def refunds() -> AsyncIterator[RefundGraphs]:
    """The port `refunds`, over the same shop."""
    yield RefundGraphs(_SHOP)


def without_addresses(data: JsonValue) -> JsonValue:
    """Event data without the customers' addresses, at any depth."""
    match data:
        case dict():
            return {name: "[removed]" if name == "email" else without_addresses(value) for name, value in data.items()}
        case list():
            return [without_addresses(value) for value in data]
        case _:
            return data


def script() -> ConversationScript:
    """What a model would understand, for those who have none."""
    said = ConversationScript()
    for order_id in (7, 8, 9):
        said.when(f"What do I get back for order {order_id}?").proposes("refund.assess", {"order_id": order_id})
    said.when("Pay back 49.90 for order 7").proposes("refund.pay", {"order_id": 7, "amount_cents": 4990})
    said.when("Pay back 99.00 for order 7").proposes("refund.pay", {"order_id": 7, "amount_cents": 9900})
    said.when("yes").answers(value=True)
    said.when("no").answers(value=False)
    return said


application = Application(
    agents=[AGENT],
    ports={"shop": shop, "refunds": refunds},
    gateway=gateway_from_environment() or script(),
    redact=without_addresses,
)
