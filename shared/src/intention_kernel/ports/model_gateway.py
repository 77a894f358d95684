"""The one port to models: a task goes out with its input and the form of its answer, and JSON comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.model_task import ModelTask as ModelTask


@dataclass(frozen=True, slots=True)
class ModelCapability:
    """A capability as a model reads it: a summary for selection, a contract for interpretation.

    A summary has no `input_schema`, `guidance` and `reference_requirements`.
    """

    detail: Literal["summary", "contract"]
    id: str
    description: str
    availability: Literal["ready", "blocked"]
    blocked_by: tuple[str, ...] = ()
    input_schema: Mapping[str, JsonValue] | None = None
    guidance: JsonValue = None
    reference_requirements: JsonValue = None

    def to_json(self) -> dict[str, JsonValue]:
        document: dict[str, JsonValue] = {
            "detail": self.detail,
            "id": self.id,
            "description": self.description,
            "availability": self.availability,
            "blockedBy": list(self.blocked_by),
        }
        optional: dict[str, JsonValue] = {
            "inputSchema": dict(self.input_schema) if self.input_schema is not None else None,
            "guidance": self.guidance,
            "referenceRequirements": self.reference_requirements,
        }
        return document | {name: value for name, value in optional.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call. `system` is instructions, `input` is redacted context; `output_schema` is the JSON Schema of the answer.

    `model` is the alias of the agent's model policy, or None for the gateway's own choice. `capabilities` are summaries for
    selection, contracts for interpretation, and none for response tasks. `timeout_seconds` is what is left of the turn.
    """

    task: ModelTask
    model: str | None
    prompt_id: str
    system: str
    input: JsonValue
    output_schema: Mapping[str, JsonValue]
    capabilities: tuple[ModelCapability, ...]
    timeout_seconds: float

    def to_json(self) -> dict[str, JsonValue]:
        """What identifies the request in the journal and in recordings: everything but the time that is left."""
        return {
            "task": self.task,
            "model": self.model,
            "promptId": self.prompt_id,
            "system": self.system,
            "input": self.input,
            "outputSchema": dict(self.output_schema),
            "capabilities": [capability.to_json() for capability in self.capabilities],
        }


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens, as far as the provider says."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ModelResult:
    """The answer, parsed and not yet validated; provider and model as names, nothing sensitive."""

    value: JsonValue
    provider: str
    model: str
    usage: ModelUsage = ModelUsage()


class ModelGateway(Protocol):
    """Where models are. One gateway may serve many, by `request.model`."""

    async def invoke(self, request: ModelRequest) -> ModelResult:
        """Ask once. Raises ModelGatewayError, and leaves nothing running when it is cancelled."""
        ...
