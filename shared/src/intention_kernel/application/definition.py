"""The application: everything that the processes need to know of what they run (interface 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction

from intention_kernel.agent.agent import Agent
from intention_kernel.agent.compiled import AnyAgent, CompiledAgent
from intention_kernel.agent.definition import AgentDefinition
from intention_kernel.errors import ConfigurationError
from intention_kernel.ports.model_gateway import ModelGateway
from intention_kernel.runtime.events import EventSink, Redact

PortFactory = Callable[[], AbstractAsyncContextManager[object]]


@dataclass(frozen=True, slots=True)
class Application:
    """Agents, the ports they use, and what happens to event data before anything sees it.

    `agents` are Agents and what `compile_agent` returns. `ports` maps a name to a factory of an async context manager,
    entered once per process and left on stop. `gateway` is where compiled agents ask models; without them it may be None.
    `redact` runs on event data before any sink, outbox, trace or log; None means null; raising fails the turn.
    """

    agents: Sequence[AnyAgent]
    ports: Mapping[str, PortFactory] = field(default_factory=dict)
    gateway: ModelGateway | None = None
    event_sinks: Sequence[EventSink] = ()
    redact: Redact | None = None

    def __post_init__(self) -> None:
        """Accepts any iterable of agents; raises ConfigurationError for none, what is no agent, two of one id, a port that
        is no factory, or a missing gateway."""
        agents = _agents(self.agents)
        object.__setattr__(self, "agents", agents)
        ids = [agent.id for agent in agents]
        problems = [] if agents else ["an application has at least one agent"]
        problems += [
            f"agent {agent_id!r} is declared twice" for agent_id in sorted({i for i in ids if ids.count(i) > 1})
        ]
        problems += [problem for name, port in self.ports.items() for problem in _port_problems(name, port)]
        if self.gateway is None:
            problems += [
                f"agent {agent.id!r} is compiled and asks models: give Application(..., gateway=...), a ModelGateway "
                "such as gateway_from_environment(), or a ConversationScript where no provider is"
                for agent in agents
                if isinstance(agent, CompiledAgent)
            ]
        if problems:
            raise ConfigurationError(*problems)

    def agent(self, agent_id: str) -> AnyAgent | None:
        """The agent of that id, if this build has it."""
        return next((agent for agent in self.agents if agent.id == agent_id), None)


def _port_problems(name: str, given: object) -> Iterator[str]:
    if not callable(given):
        yield (
            f"port {name!r} is no factory but {type(given).__name__}: give a function without arguments that returns an "
            "async context manager, such as one with @asynccontextmanager"
        )
    elif isasyncgenfunction(given) or iscoroutinefunction(given) or isgeneratorfunction(given):
        yield f"port {name!r} makes no context manager: put @asynccontextmanager above an async function that yields it"


def _agents(given: object) -> tuple[AnyAgent, ...]:
    """Raises ConfigurationError where these are no agents."""
    if not isinstance(given, Iterable):
        raise ConfigurationError(f"agents is of type {type(given).__name__}; give a list of agents: [agent]")
    agents = tuple(given)
    problems = [
        f"{agent!r} is no agent"
        if not isinstance(agent, AgentDefinition)
        else f"agent {agent.id!r} is a definition: give what compile_agent(...) returns"
        for agent in agents
        if not isinstance(agent, Agent | CompiledAgent)
    ]
    if problems:
        raise ConfigurationError(*problems)
    return agents
