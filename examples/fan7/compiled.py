"""FAN-7 as a compiled agent: the intent is approved before anything is reserved, and the work order follows."""

from __future__ import annotations

from intention_kernel.agent import (
    AgentDefinition,
    CompiledAgent,
    IdempotentRetry,
    Lookup,
    Manual,
    ResponseFallbacks,
    compile_agent,
)

from examples.fan7.capabilities import ORDER_WORK, STOCK, reservation_capability
from examples.fan7.effects import JOB, TASK

_IDENTITY = (
    f"You look after job {JOB}: {TASK}. You know the inventory's stock, reserve filters once the user has approved it, "
    "and write the work order for what is reserved."
)
_ELSEWHERE = f"I only look after {JOB}: its stock, its reservation and its work order."


def fan7_agent(resolver: Lookup | IdempotentRetry | Manual | None = None) -> CompiledAgent:
    """The agent `fan7-agent`. `resolver` finds out what became of a reservation whose reply got lost."""
    return compile_agent(
        AgentDefinition(
            id="fan7-agent",
            identity=_IDENTITY,
            capabilities=(STOCK, reservation_capability(resolver), ORDER_WORK),
            response_fallbacks=ResponseFallbacks(unsupported_intention=_ELSEWHERE),
        )
    )
