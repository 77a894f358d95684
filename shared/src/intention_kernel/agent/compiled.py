"""A compiled agent: what every stage of the kernel relies on. Nothing in it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from intention_kernel.agent.agent import Agent, Migration
from intention_kernel.agent.capability import CapabilityDefinition
from intention_kernel.agent.definition import AgentDefinition
from intention_kernel.agent.effect import Effect
from intention_kernel.agent.schema import Schema
from intention_kernel.contracts.checkpoint import Checkpoint
from intention_kernel.contracts.interactions import InteractionSelection
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Capability:
    """A definition with its schemas compiled. `effect` is the Effect of a write, with the capability's id."""

    definition: CapabilityDefinition
    input: Schema
    output: Schema
    effect: Effect | None

    @property
    def id(self) -> str:
        return self.definition.id


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTurnInput:
    """One turn for `CompiledAgent.run`. The same turn id replays the stored result."""

    thread_id: str
    turn_id: str
    text: str
    selection: InteractionSelection | None = None
    summary: str | None = None
    host_context: Mapping[str, JsonValue] | None = None
    tenant_id: str | None = None


@dataclass(frozen=True, slots=True)
class RunTurnResult:
    """A committed turn: `response` is what `turn.completed` holds, None where there was nothing to say."""

    thread_id: str
    turn_id: str
    status: str
    response: Mapping[str, JsonValue] | None
    blocked_on: tuple[str, ...]
    checkpoint: Checkpoint
    replayed: bool


class InProcessDurability(Protocol):
    """A durable boundary in this process, with all that a turn needs beside it: see `intention_kernel.testing`."""

    async def run_turn(self, agent: CompiledAgent, turn: RunTurnInput) -> RunTurnResult:
        """Run one turn to its commit. Raises what ends it without one."""
        ...


@dataclass(frozen=True, slots=True)
class CompiledAgent:
    """An agent that `compile_agent` has checked. `capabilities` are in an order in which providers come first.

    `fingerprint` is the digest of the definition's contracts: the same in every process, whatever the order of declarations
    and the models' aliases, and never of code.
    """

    definition: AgentDefinition
    capabilities: Mapping[str, Capability]
    providers: Mapping[str, str]
    """Fact key -> the one capability that provides it."""
    fingerprint: str

    @property
    def id(self) -> str:
        return self.definition.id

    @property
    def accepts_fingerprints(self) -> tuple[str, ...]:
        return self.definition.accepts_fingerprints

    @property
    def migrate(self) -> Migration | None:
        return self.definition.migrate

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Of its writes."""
        return tuple(c.effect for c in self.capabilities.values() if c.effect is not None)

    def effect(self, effect_id: str) -> Effect:
        """The effect of that id; raises ConfigurationError where the agent declares none."""
        capability = self.capabilities.get(effect_id)
        if capability is None or capability.effect is None:
            raise ConfigurationError(f"agent {self.id!r} declares no effect {effect_id!r}")
        return capability.effect

    async def run(self, turn: RunTurnInput, *, durability: InProcessDurability) -> RunTurnResult:
        """Run one turn in this process, with the code that a turn-runner runs: for tests, evaluations and examples."""
        return await durability.run_turn(self, turn)


AnyAgent = Agent | CompiledAgent
"""What an application may hold: both have an id, effects, a fingerprint, those that they accept, and `migrate`."""
