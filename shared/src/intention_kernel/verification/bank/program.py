"""The program `payer`: takes the steps that the turn's text names, one after the other, and says what became of each."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

from intention_kernel.agent import (
    EffectConflictError,
    EffectNotAppliedError,
    Response,
    TurnContext,
    TurnResult,
)
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ids import random_id
from intention_kernel.verification.bank.effects import client_of, send
from intention_kernel.verification.bank.messages import Operation
from intention_kernel.verification.bank.steps import (
    Ask,
    Charge,
    Die,
    Emit,
    Notify,
    Pause,
    Plan,
    Reserve,
    Step,
    Unreadable,
    read_plan,
)


async def program(context: TurnContext) -> TurnResult:
    """Every step of the plan; one whose outcome is unknown leaves the turn blocked, and its continuation goes on."""
    plan = read_plan(context.input.text)
    if isinstance(plan, Unreadable):
        return TurnResult(Response(f"This is no plan: {plan.detail}", status="refused"))
    said = [one async for one in _take(context, plan)]
    return TurnResult(Response("; ".join(said) or "nothing to do"), dict(plan.facts))


async def _take(context: TurnContext, plan: Plan) -> AsyncIterator[str]:
    for step in plan.steps:
        yield await _step(context, step)


async def _step(context: TurnContext, step: Step) -> str:
    match step:
        case Charge(key=key, amount=amount):
            return await _effect(context, "charge", key, {"key": key, "amount": amount})
        case Reserve(key=key, amount=amount):
            return await _effect(context, "reserve", key, {"key": key, "amount": amount})
        case Notify(key=key, text=text):
            return await _effect(context, "notify", key, {"key": key, "text": text})
        case Ask(name=name):
            return f"ask {name}: {await context.recorded(name, {'name': name}, _anything)}"
        case Pause(seconds=seconds):
            await asyncio.sleep(seconds)
            return f"pause {seconds:g}"
        case Emit(count=count):
            for number in range(1, count + 1):
                await context.events.emit("payer.emitted", {"number": number, "of": count})
            return f"emit {count}"
        case Die():
            os.kill(os.getpid(), signal.SIGKILL)
            return "dead"


async def _effect(context: TurnContext, op: Operation, key: str, payload: dict[str, JsonValue]) -> str:
    client = client_of(context.ports)
    try:
        result = await context.run_effect(
            key, lambda authority: send(client, op, authority, payload), payload=payload, effect=f"bank.{op}"
        )
    except EffectNotAppliedError as error:
        return f"{op} {key}: refused, {error.detail}"
    except EffectConflictError:
        return f"{op} {key}: conflict"
    assert isinstance(result.value, dict)
    return f"{op} {key}: {result.value['reference']}"


async def _anything() -> JsonValue:
    return random_id().hex
