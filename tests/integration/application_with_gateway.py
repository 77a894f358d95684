"""An application whose gateway holds something, for tests of what a process does at its end."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.application.definition import Application
from intention_kernel.ports.model_gateway import ModelRequest, ModelResult, ModelUsage

from tests.support.kernel import agent, capability


@dataclass(slots=True)
class HeldGateway:
    """Counts how often it was closed."""

    closed: int = 0

    async def invoke(self, request: ModelRequest) -> ModelResult:
        return ModelResult(None, "held", "held", ModelUsage())

    async def aclose(self) -> None:
        self.closed += 1


gateway = HeldGateway()
application = Application(agents=[agent(capability("shop.find"))], gateway=gateway)
