"""The refund port as two LangGraph graphs: one finds out what is due, the other pays it. Only this module needs LangGraph.

They are compiled without a checkpointer: a graph remembers nothing between runs, and is run from its start where its step is
run again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict, cast

from intention_kernel.contracts.json_codec import JsonValue
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from examples.nested_graph.graph_progress import run_to_end
from examples.nested_graph.refunds import Pay, Question, Refund, Tell
from examples.nested_graph.shop import Order, Shop

DAYS_TO_RETURN = 30


class Assessing(TypedDict, total=False):
    """The state of the graph that reads."""

    order_id: int
    order: Order
    amount_cents: int
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What its nodes are given."""

    shop: Shop
    tell: Tell


async def look_up(state: Assessing, runtime: Runtime[Reading]) -> Assessing:
    """The only node that reads."""
    order = await runtime.context.shop.order(state["order_id"])
    await runtime.context.tell("order.found", {"totalCents": order["total_cents"], "email": order["email"]})
    return {"order": order}


def by_condition(state: Assessing) -> Literal["damaged", "returned"]:
    """Which rule is for the order."""
    return "damaged" if state["order"]["damaged"] else "returned"


async def damaged(state: Assessing) -> Assessing:
    """Everything is paid back."""
    return {"amount_cents": state["order"]["total_cents"], "reason": "it arrived damaged"}


async def returned(state: Assessing) -> Assessing:
    """Everything within the days to return, nothing after them."""
    order = state["order"]
    if order["age_days"] <= DAYS_TO_RETURN:
        return {"amount_cents": order["total_cents"], "reason": f"it can be returned within {DAYS_TO_RETURN} days"}
    return {"amount_cents": 0, "reason": f"the {DAYS_TO_RETURN} days to return it are over"}


class Paying(TypedDict, total=False):
    """The state of the graph that pays. `receipt` is the shop's."""

    order_id: int
    amount_cents: int
    parts: dict[str, int]
    receipt: dict[str, JsonValue]
    reference: str
    note: str


@dataclass(frozen=True, slots=True)
class Acting:
    """What its nodes are given: no client of the shop, so that nothing can be paid but through the parent's effect."""

    pay: Pay


async def split(state: Paying) -> Paying:
    """Card payments have a limit; what is beyond it goes to vouchers. It depends on the input alone."""
    card = min(state["amount_cents"], 4000)
    return {"parts": {"card": card, "voucher": state["amount_cents"] - card}}


async def pay(state: Paying, runtime: Runtime[Acting]) -> Paying:
    """The irreversible step. What it raises is not caught here: the capability's step is blocked by it."""
    return {"receipt": cast("dict[str, JsonValue]", await runtime.context.pay(state["parts"]))}


async def confirm(state: Paying) -> Paying:
    """Words for what was paid."""
    told = " and ".join(f"{_money(cents)} by {means}" for means, cents in state["parts"].items() if cents)
    return {"reference": str(state["receipt"]["reference"]), "note": f"Paid back {told}."}


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


_assessment = StateGraph(Assessing, context_schema=Reading)
_assessment.add_node("look_up", look_up)
_assessment.add_node("damaged", damaged)
_assessment.add_node("returned", returned)
_assessment.add_edge(START, "look_up")
_assessment.add_conditional_edges("look_up", by_condition)
_assessment.add_edge("damaged", END)
_assessment.add_edge("returned", END)
ASSESSMENT = _assessment.compile()

_payout = StateGraph(Paying, context_schema=Acting)
_payout.add_node("split", split)
_payout.add_node("pay", pay)
_payout.add_node("confirm", confirm)
_payout.add_edge(START, "split")
_payout.add_edge("split", "pay")
_payout.add_edge("pay", "confirm")
_payout.add_edge("confirm", END)
PAYOUT = _payout.compile()


@dataclass(frozen=True, slots=True)
class RefundGraphs:
    """`refunds.RefundWork` by graphs. The reading one has the shop; the paying one has nothing but what it is given."""

    shop: Shop

    async def assess(self, question: Question, tell: Tell) -> JsonValue:
        start: Assessing = {"order_id": question.order_id}
        return await run_to_end("assessment", ASSESSMENT, start, Reading(self.shop, tell), tell)

    async def pay_out(self, refund: Refund, pay: Pay, tell: Tell) -> JsonValue:
        start: Paying = {"order_id": refund.order_id, "amount_cents": refund.amount_cents}
        return await run_to_end("payout", PAYOUT, start, Acting(pay), tell)
