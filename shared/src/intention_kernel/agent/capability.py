"""Capabilities: what an agent can do, declared; and what one is given when it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Final, Literal, Protocol

from intention_kernel.agent.context import EffectResult, Operation
from intention_kernel.agent.effect import Call, Manual, Ports, Resolver
from intention_kernel.agent.results import CapabilityResult
from intention_kernel.agent.schema import SchemaSource
from intention_kernel.contracts.agenda import MissingFact
from intention_kernel.contracts.event import EventCategory
from intention_kernel.contracts.facts import FactReference, Facts, ModelVisibility
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.interactions import Interaction, InteractionAnswer
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import Summary

EffectKind = Literal["none", "read", "write"]
ConfirmationMode = Literal["none", "required", "capability"]


class StepInput(Enum):
    """The type of STEP_INPUT."""

    STEP_INPUT = "step input"


STEP_INPUT: Final = StepInput.STEP_INPUT
"""`run_effect(payload=…)`: the effect is about the step's validated input."""

StepTrigger = Literal["user", "dependency", "resume", "reconciliation"]


@dataclass(frozen=True, slots=True)
class FactRequirement:
    """A fact that has to be there. `resolution="runtime"` leaves its absence to the capability (NeedsDependency)."""

    type: str
    description: str
    version: int = 1
    resolution: Literal["planning", "runtime"] = "planning"

    @property
    def reference(self) -> FactReference:
        return FactReference(type=self.type, version=self.version)

    @property
    def missing(self) -> MissingFact:
        """The requirement as the agenda keeps it."""
        return MissingFact(type=self.type, version=self.version, description=self.description)


@dataclass(frozen=True, slots=True)
class FactDeclaration:
    """A fact that the capability may publish.

    `derive_model_redactions` gives the strings of a value that no model may read; strings under 3 characters are ignored.
    """

    type: str
    version: int = 1
    model_visibility: ModelVisibility = "full"
    derive_model_redactions: Callable[[JsonValue], tuple[str, ...]] | None = None

    @property
    def reference(self) -> FactReference:
        return FactReference(type=self.type, version=self.version)


@dataclass(frozen=True, slots=True)
class CapabilityGuidance:
    """Words for the model that interprets: when to use the capability, when not, and examples of both."""

    when_to_use: tuple[str, ...] = ()
    when_not_to_use: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceRequirements:
    """How many distinct options of the active interaction an intention has to refer to."""

    minimum: int
    maximum: int
    source: Literal["active_interaction_options"] = "active_interaction_options"


@dataclass(frozen=True, slots=True)
class Execution:
    """Which step this is. `capability_id` is the prefix of the keys of its effects."""

    thread_id: str
    turn_id: str
    step_id: str
    capability_id: str
    trigger: StepTrigger


@dataclass(frozen=True, slots=True)
class CapabilityTurn:
    """The turn as a capability sees it.

    `interaction` and `interaction_answer` are there only if the question is the capability's own or this step was answered.
    `host_context` comes from the host, never from a model: tenant, user and permissions are taken from it alone.
    """

    current_message: str
    messages: tuple[Mapping[str, JsonValue], ...]
    summary: str | None
    host_context: Mapping[str, JsonValue]
    continuation: JsonValue = None
    interaction: Interaction | None = None
    interaction_answer: InteractionAnswer | None = None


class CapabilityEvents(Protocol):
    """Events of the step, in order; a nested graph reports its progress here."""

    async def emit(self, name: str, data: JsonValue, category: EventCategory = "trace") -> None:
        """Publish `capability.event` under this step. Names are like `graph.node-done`.

        Raises CapabilityContractError for another name, JsonError where `data` is not JSON.
        """
        ...


class CapabilityExecutionContext(Protocol):
    """What a capability is given. Values, not handles: a retry of the turn sees the same ones."""

    @property
    def intention(self) -> IntentionRequest: ...
    @property
    def execution(self) -> Execution: ...
    @property
    def turn(self) -> CapabilityTurn: ...
    @property
    def tenant_id(self) -> str | None: ...
    @property
    def facts(self) -> Facts:
        """All facts, those that are hidden from models among them; facts of earlier steps of this turn too."""
        ...

    @property
    def ports(self) -> Ports: ...
    @property
    def events(self) -> CapabilityEvents: ...
    @property
    def deadline(self) -> datetime:
        """Aware UTC; the step is cancelled at it."""
        ...

    def now(self) -> datetime:
        """The turn's time: the same on every attempt."""
        ...

    def new_id(self, kind: str) -> str:
        """The step's next id of that kind: the same on every attempt."""
        ...

    async def run_effect(
        self, key: str, operation: Operation, *, payload: JsonValue | StepInput = STEP_INPUT
    ) -> EffectResult:
        """The value of the effect `<capability id>:<key>`, calling `operation` at most once for it in the whole thread.

        `payload` is what the effect is about, by default the step's validated input. The key is the id of the business
        operation. Only a write may call it (CapabilityContractError `EFFECT_NOT_ALLOWED`); other errors as in
        `TurnContext.run_effect`. What is not caught: uncertain blocks the step, not applied and conflict are told to the
        user as issues, anything else fails the attempt.
        """
        ...


Execute = Callable[[CapabilityExecutionContext, Any], Awaitable[CapabilityResult]]
"""(context, validated input) -> result. The input is of the declared type, or JSON where the schema is a JSON Schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityDefinition:
    """Something an agent can do.

    `effect`: "none" and "read" change nothing outside; "write" does, through `context.run_effect`, and needs
    `confirmation`: "required" (the kernel asks and resumes exactly the planned operation) or "capability" (it asks itself,
    and nothing is authorised for it). `expires_seconds` is how long the kernel's confirmation stays open.
    The members from `result` on are those of `Effect` and belong to a write; `result` is the type that `run_effect` returns,
    by default `output`; `describe` (payload -> Summary) is required for a write.
    """

    id: str
    description: str
    input: SchemaSource
    output: SchemaSource
    execute: Execute
    version: int = 1
    effect: EffectKind = "none"
    confirmation: ConfirmationMode = "none"
    requires: tuple[FactRequirement, ...] = ()
    provides: tuple[FactDeclaration, ...] = ()
    invalidates: tuple[FactReference, ...] = ()
    guidance: CapabilityGuidance | None = None
    reference_requirements: ReferenceRequirements | None = None
    expires_seconds: float | None = None
    result: type | None = None
    describe: Callable[[JsonValue], Summary] | None = None
    resolver: Resolver = field(default_factory=Manual)
    call: Call | None = None
    call_timeout_seconds: float = 30.0
    provider_deduplicates: bool = False
    key_window_seconds: float | None = None
    lookup_closes_key: bool = False
    quiet_period_seconds: float | None = None
    twins: bool = False
