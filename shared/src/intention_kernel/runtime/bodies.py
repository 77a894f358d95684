"""The body that runs an agent's turns: a Program's, or a compiled agent's."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.agent.agent import Agent
from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.agent.effect import Ports
from intention_kernel.clock import Clock
from intention_kernel.errors import ConfigurationError
from intention_kernel.ports.model_gateway import ModelGateway
from intention_kernel.ports.turn_body import TurnBody
from intention_kernel.runtime.agent_body import AgentBody
from intention_kernel.runtime.events import Observers
from intention_kernel.runtime.program_body import ProgramBody


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every body of a process shares. `timeout_seconds` is the most that one attempt may take."""

    ports: Ports
    observers: Observers
    clock: Clock
    timeout_seconds: float
    gateway: ModelGateway | None = None


def body_of(agent: Agent | CompiledAgent, around: Surroundings) -> TurnBody:
    """Raises ConfigurationError for a compiled agent without a gateway."""
    if isinstance(agent, Agent):
        return ProgramBody(
            agent, agent.fingerprint, around.ports, around.observers, around.clock, around.timeout_seconds
        )
    if around.gateway is None:
        raise ConfigurationError(f"agent {agent.id!r} is compiled and asks models: give its application a gateway=")
    return AgentBody(agent, around.gateway, around.ports, around.observers, around.clock, around.timeout_seconds)
