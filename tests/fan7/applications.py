"""FAN-7's compiled agent with each way to find out an unknown reservation, and no model but the scripted one."""

from __future__ import annotations

from intention_kernel.agent import IdempotentRetry, Lookup, Manual
from intention_kernel.application import Application

from examples.fan7.compiled import fan7_agent
from examples.fan7.effects import inventory
from examples.fan7.model import Fan7Model


def _application(resolver: Lookup | IdempotentRetry | Manual | None = None) -> Application:
    return Application(agents=(fan7_agent(resolver),), ports={"inventory": inventory}, gateway=Fan7Model())


lookup = _application()
retry = _application(IdempotentRetry())
operator = _application(Manual())
