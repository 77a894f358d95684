"""An application with one agent."""

from __future__ import annotations

from intention_kernel.agent import Agent, Response, TurnContext, TurnResult
from intention_kernel.application import Application


async def _program(context: TurnContext) -> TurnResult:
    return TurnResult(Response(context.input.text))


application = Application(agents=(Agent("only", _program),))
