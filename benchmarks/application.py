"""The application of the whole-system benchmarks: a plain Program with one local effect and 18 events."""

from __future__ import annotations

from intention_kernel.agent import Agent, Effect, EffectAuthority, Manual, Response, Summary, TurnContext, TurnResult
from intention_kernel.application import Application
from intention_kernel.contracts.json_codec import JsonValue

AGENT = "benchmark"
PLAIN = "benchmark-plain"
"""The same turn without its effect."""
EVENTS = 18
"""Of a turn: its start, its end, the effect's, and what the program emits."""
EMITTED = EVENTS - 3
TEXT = "The quick brown fox jumps over the lazy dog, twice around the pond and home again by the old mill. " * 2

RESERVE = Effect(
    id="inventory.reserve",
    result=dict,
    describe=lambda payload: Summary(title="Reserve 2 pieces", provider="local"),
    resolver=Manual(),
)


async def reserve(authority: EffectAuthority) -> JsonValue:
    """A write that costs nothing."""
    return {"reservation": authority.idempotency_key, "left": 2}


async def program(context: TurnContext) -> TurnResult:
    """Half of its events before the effect, half after it."""
    for step in range(EMITTED // 2):
        await context.events.emit("step.progressed", {"step": step, "text": TEXT})
    payload: JsonValue = {"sku": "FILTER-A", "quantity": 2}
    reserved = await context.run_effect(context.turn_id, reserve, payload=payload, effect=RESERVE.id)
    for step in range(EMITTED // 2, EMITTED):
        await context.events.emit("step.progressed", {"step": step, "text": TEXT})
    return TurnResult(Response(TEXT[:99]), facts={"reservation": reserved.value})


async def plain_program(context: TurnContext) -> TurnResult:
    """As many events, no effect."""
    for step in range(EMITTED + 1):
        await context.events.emit("step.progressed", {"step": step, "text": TEXT})
    return TurnResult(Response(TEXT[:99]), facts={"reservation": {"reservation": context.turn_id, "left": 2}})


application = Application(agents=(Agent(AGENT, program, effects=(RESERVE,)), Agent(PLAIN, plain_program)))
