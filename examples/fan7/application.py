"""FAN-7, the worked example, twice over one inventory: a plain Program (`fan7`) and a compiled agent (`fan7-agent`)."""

from __future__ import annotations

from intention_kernel.application import Application
from intention_kernel.models.environment import gateway_from_environment

from examples.fan7.compiled import fan7_agent
from examples.fan7.effects import inventory
from examples.fan7.model import Fan7Model
from examples.fan7.program import agent

application = Application(
    agents=(agent, fan7_agent()),
    ports={"inventory": inventory},
    gateway=gateway_from_environment() or Fan7Model(),
)
