"""Two builds of one application, over threads that the contract suites' calls make."""

from __future__ import annotations

from intention_kernel.agent import Agent, Effect, JsonValue, Summary, TurnContext, TurnResult
from intention_kernel.application import Application
from intention_kernel.testing.boundary_calls import FINGERPRINT

OTHER_FINGERPRINT = "build-2"


async def _program(context: TurnContext) -> TurnResult:
    return TurnResult(response=None)


def _describe(payload: JsonValue) -> Summary:
    return Summary(title="Reserve")


_RESERVE = Effect("reserve", dict, _describe)
narrow = Application(agents=(Agent("agent", _program, accepts_fingerprints=(FINGERPRINT,)),))
wide = Application(
    agents=(Agent("agent", _program, effects=(_RESERVE,), accepts_fingerprints=(FINGERPRINT, OTHER_FINGERPRINT)),)
)
