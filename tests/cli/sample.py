"""Applications with one agent, one that fails, and two."""

from __future__ import annotations

from intention_kernel.agent import Agent, Response, TurnContext, TurnResult
from intention_kernel.application import Application


async def _program(context: TurnContext) -> TurnResult:
    return TurnResult(Response(context.input.text))


application = Application(agents=(Agent("only", _program),))


async def _broken(context: TurnContext) -> TurnResult:
    raise RuntimeError(f"nothing is said about {context.input.text}")


broken = Application(agents=(Agent("only", _broken),))
several = Application(agents=(Agent("only", _program), Agent("other", _program)))
