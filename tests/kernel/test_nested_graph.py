"""A LangGraph graph inside a capability: its progress, its output, and its irreversible step (docs/nested-graphs.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TypedDict

import pytest
from intention_kernel.agent import CapabilityContractError
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.testing import MemoryDurability, SeenEvent, SpokenTurn, Talk
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from examples.nested_graph.application import AGENT, script, without_addresses
from examples.nested_graph.graph_progress import GraphInterruptedError, run_to_end
from examples.nested_graph.graphs import RefundGraphs
from examples.nested_graph.refunds import Pay, Question, Refund, RefundWork, Tell
from examples.nested_graph.shop import Shop
from tests.docs.blocks import blocks_of, run_blocks
from tests.static.project import ROOT

ASK = "What do I get back for order 7?"
PAY = "Pay back 49.90 for order 7"
PAID = "Paid back 40.00 by card and 9.90 by voucher. The reference is P-1."


def talking(shop: Shop, work: RefundWork | None = None) -> Talk:
    ports: dict[str, object] = {"shop": shop, "refunds": work or RefundGraphs(shop)}
    return Talk(AGENT, durability=MemoryDurability(script(), ports=ports, redact=without_addresses))


async def confirmed(talk: Talk) -> SpokenTurn:
    """The turn that pays for order 7."""
    await talk.says(ASK)
    (await talk.says(PAY)).asks("confirmation")
    return await talk.clicks("yes")


def of_the_step(turn: SpokenTurn) -> list[SeenEvent]:
    """The events of the turn's only step."""
    events = [event for event in turn.events if event.step_id is not None]
    assert len({event.step_id for event in events}) == 1
    return events


def words(event: SeenEvent) -> str:
    """What an event is about, in one word."""
    match event.data:
        case {"name": "graph.node-done", "data": {"node": str(node)}}:
            return node
        case {"name": str(name)}:
            return name
        case _:
            return event.type


async def test_nodes_report_under_the_parent_step_each_event_caused_by_the_one_before() -> None:
    turn = await talking(Shop()).says(ASK)
    events = of_the_step(turn)
    assert [words(event) for event in events] == [
        "step.started",
        "capability.invoked",
        "order.found",
        "look_up",
        "damaged",
        "capability.completed",
    ]
    for cause, event in pairwise(events):
        event.caused_by(cause)


async def test_what_nodes_report_is_redacted_before_it_leaves() -> None:
    talk = talking(Shop())
    turn = await talk.says(ASK)
    found = next(event for event in turn.events if words(event) == "order.found")
    assert found["data"] == {"totalCents": 4990, "email": "[removed]"}
    traces = talk.durability.traces.published
    assert len(traces) == len(turn.events)
    assert b"ada@example.org" not in dumps([list(traces), [event.data for event in turn.events]])


async def test_the_validated_output_becomes_a_fact_with_evidence() -> None:
    talk = talking(Shop())
    turn = await talk.says(ASK)
    turn.says_exactly("49.90 is due for order 7: it arrived damaged.")
    assert talk.facts == {"assessment@1": {"order_id": 7, "amount_cents": 4990, "reason": "it arrived damaged"}}
    assert talk.fact("assessment").evidence[0].content == turn.message


async def test_what_a_node_raises_reaches_the_capability_as_it_is() -> None:
    talk = talking(Shop())
    (await talk.says("What do I get back for order 9?")).tells_issue("refund.assess", "ORDER_NOT_FOUND")
    assert talk.facts == {}


async def test_the_irreversible_step_crosses_the_parents_effect_between_its_neighbours() -> None:
    shop = Shop()
    talk = talking(shop)
    turn = await confirmed(talk)
    turn.says_exactly(PAID)
    assert [words(event) for event in of_the_step(turn)][2:6] == ["split", "effect.recorded", "pay", "confirm"]
    receipt = turn.applied("refund.pay:7")
    assert receipt.payload == {"orderId": 7, "parts": {"card": 4000, "voucher": 990}}
    assert len(shop.calls) == 1
    await talk.replays(turn)
    assert len(shop.calls) == 1


async def test_another_amount_than_the_assessed_one_is_not_paid() -> None:
    shop = Shop()
    talk = talking(shop)
    await talk.says(ASK)
    (await talk.says("Pay back 99.00 for order 7")).plans("refund.pay", "POLICY_DENIED")
    assert shop.calls == []


async def test_a_lost_reply_inside_the_graph_blocks_the_step_and_its_settlement_runs_the_graph_to_its_end() -> None:
    """The graph starts again, meets the settled effect and calls nobody, whatever was assessed in between."""
    shop = Shop()
    talk = talking(shop)
    talk.loses_reply("refund.pay")
    blocked = await confirmed(talk)
    blocked.waits_for("refund.pay:7")
    assert [words(event) for event in of_the_step(blocked)][2:] == ["split", "effect.recorded", "capability.blocked"]
    assert "refund@1" not in talk.facts
    await talk.says("What do I get back for order 8?")
    resumed = await talk.settles_as_applied("refund.pay:7", {"reference": "P-1", "paidCents": 4990})
    resumed.says_exactly(PAID)
    assert [words(event) for event in of_the_step(resumed)][2:6] == ["split", "effect.recorded", "pay", "confirm"]
    assert len(shop.calls) == len(shop.payments) == 1
    assert "refund@1" in talk.facts
    assert talk.agenda == ()


async def test_a_settlement_as_not_applied_lets_the_graph_make_the_next_attempt_on_the_same_receipt() -> None:
    shop = Shop()
    talk = talking(shop)
    talk.loses_reply("refund.pay")
    before = (await confirmed(talk)).waits_for("refund.pay:7")
    shop.payments.clear()
    resumed = await talk.settles_as_not_applied("refund.pay:7")
    resumed.says_exactly(PAID)
    after = resumed.applied("refund.pay:7")
    assert (after.receipt_id, after.attempt) == (before.receipt_id, 2)
    assert shop.calls == [shop.calls[0]] * 2
    assert len(shop.payments) == 1


@dataclass(slots=True)
class Careless:
    """A port without any graph, which breaks the rule: what it pays depends on what it read, and that changes."""

    output: JsonValue
    reads: int = 0

    async def assess(self, question: Question, tell: Tell) -> JsonValue:
        return self.output

    async def pay_out(self, refund: Refund, pay: Pay, tell: Tell) -> JsonValue:
        self.reads += 1
        await pay({"card": self.reads})
        return {"reference": "P-1", "note": "Paid."}


async def test_a_second_run_that_would_pay_something_else_calls_nobody() -> None:
    """Why a graph has to be pure up to its effect: the payload is part of the effect's identity."""
    shop = Shop()
    talk = talking(shop, Careless({"order_id": 7, "amount_cents": 4990, "reason": "it arrived damaged"}))
    talk.loses_reply("refund.pay")
    (await confirmed(talk)).waits_for("refund.pay:7")
    resumed = await talk.settles_as_applied("refund.pay:7", {"reference": "P-1"})
    resumed.tells_issue("refund.pay", "EFFECT_CONFLICT")
    assert len(shop.calls) == 1
    assert talk.effect("refund.pay:7").state == "completed"


@pytest.mark.parametrize("output", [None, {"order_id": 7}, {"order_id": 7, "amount_cents": -1, "reason": "a lot"}])
async def test_an_output_that_is_not_the_contracts_fails_the_attempt_and_keeps_nothing(output: JsonValue) -> None:
    talk = talking(Shop(), Careless(output))
    with pytest.raises(CapabilityContractError, match="INVALID_GRAPH_OUTPUT"):
        await talk.says(ASK)
    assert talk.facts == {}


class Waiting(TypedDict):
    """The state of a graph that asks somebody."""

    order_id: int


async def test_a_graph_that_stops_to_ask_has_not_completed() -> None:
    async def ask(state: Waiting) -> Waiting:
        return {"order_id": interrupt("Really?")}

    async def tell(name: str, data: JsonValue) -> None:
        raise AssertionError(f"{name}: nothing was done")

    builder = StateGraph(Waiting)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    start: Waiting = {"order_id": 7}
    with pytest.raises(GraphInterruptedError):
        await run_to_end("waiting", builder.compile(), start, None, tell)


def test_nothing_but_the_example_imports_the_graph_library() -> None:
    imports = re.compile(r"^\s*(?:from|import) lang(?:graph|chain|smith)", re.MULTILINE)
    files = [path for part in ("shared", "services", "examples") for path in (ROOT / part).rglob("*.py")]
    found = {path.relative_to(ROOT).as_posix() for path in files if imports.search(path.read_text(encoding="utf-8"))}
    assert found == {"examples/nested_graph/graph_progress.py", "examples/nested_graph/graphs.py"}


async def test_every_block_of_the_page_about_nested_graphs_does_what_it_says() -> None:
    blocks = blocks_of("docs/nested-graphs.md")
    assert blocks
    await run_blocks(blocks)
