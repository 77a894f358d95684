"""Two builds of one agent: the first makes a note and then fails at it for ever, the second makes the note and is done."""

from __future__ import annotations

import os
from pathlib import Path

from intention_kernel.agent import Agent, Effect, EffectAuthority, Response, Summary, TurnContext, TurnResult
from intention_kernel.application import Application
from intention_kernel.contracts.json_codec import JsonValue

VARIABLE = "TEST_NOTES"
"""Path of the notes: one a line, in the order in which they were made."""

BROKEN = "tests.support.poison:broken"
FIXED = "tests.support.poison:fixed"
AGENT = "notes"

_EFFECT = Effect(id="notes.write", result=str, describe=lambda _: Summary("Write a note"))


def _append(line: str) -> None:
    with Path(os.environ[VARIABLE]).open("a") as notes:
        notes.write(f"{line}\n")


async def _write(context: TurnContext) -> None:
    async def operation(authority: EffectAuthority) -> JsonValue:
        _append(authority.idempotency_key)
        return "written"

    await context.run_effect(context.turn_id, operation, payload={"text": context.input.text}, effect=_EFFECT.id)


async def _fail(context: TurnContext) -> TurnResult:
    if context.input.text == "poison":
        await _write(context)
        raise RuntimeError("this build cannot stomach it")
    return TurnResult(Response(context.input.text))


async def _answer(context: TurnContext) -> TurnResult:
    if context.input.text == "poison":
        await _write(context)
    return TurnResult(Response(context.input.text))


broken = Application(agents=(Agent(AGENT, _fail, (_EFFECT,)),))
fixed = Application(agents=(Agent(AGENT, _answer, (_EFFECT,)),))
