"""An application without a provider: it says what it was told, as often as it was told to."""

from __future__ import annotations

from intention_kernel.agent import Agent, Response, TurnContext, TurnResult
from intention_kernel.application import Application


async def program(context: TurnContext) -> TurnResult:
    """`say N WORD` says the word N times."""
    _, times, word = context.input.text.split(" ", 2)
    return TurnResult(Response(word * int(times)))


application = Application(agents=(Agent(id="echo", program=program),))
