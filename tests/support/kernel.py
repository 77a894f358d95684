"""Small agents, turns and models for tests of the kernel's stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from intention_kernel.agent.capability import CapabilityDefinition, CapabilityExecutionContext
from intention_kernel.agent.compile import compile_agent
from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.agent.definition import AgentDefinition
from intention_kernel.agent.results import CapabilityResult, Completed
from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.facts import Facts
from intention_kernel.contracts.interactions import Interaction, InteractionSelection
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.contracts.receipt import Summary
from intention_kernel.ports.model_gateway import ModelTask
from intention_kernel.runtime.stages.asking import Answered, AnswerT, Ask, Unusable
from intention_kernel.runtime.stages.state import KernelState, TurnView
from pydantic import BaseModel, ValidationError

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Anything(BaseModel):
    """An input or output with one optional member."""

    note: str = ""


async def complete(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
    """Done, with an empty output."""
    return Completed(output=Anything())


def capability(capability_id: str, **members: object) -> CapabilityDefinition:
    """A capability that reads; `members` say otherwise."""
    defaults: dict[str, object] = {
        "id": capability_id,
        "description": f"Does {capability_id}",
        "input": Anything,
        "output": Anything,
        "execute": complete,
        "effect": "read",
    }
    return CapabilityDefinition(**(defaults | members))  # type: ignore[arg-type]


def write(capability_id: str, **members: object) -> CapabilityDefinition:
    """A write that the kernel has confirmed."""
    defaults: dict[str, object] = {
        "effect": "write",
        "confirmation": "required",
        "describe": lambda payload: Summary(title=capability_id),
    }
    return capability(capability_id, **(defaults | members))


def agent(*capabilities: CapabilityDefinition, **members: object) -> CompiledAgent:
    """A compiled agent of these capabilities."""
    return compile_agent(
        AgentDefinition(id="agent", identity="A helpful agent.", capabilities=capabilities, **members)  # type: ignore[arg-type]
    )


def new_ids() -> Callable[[str], str]:
    """`kind-1`, `kind-2` and so on."""
    counts: Counter[str] = Counter()

    def new_id(kind: str) -> str:
        counts[kind] += 1
        return f"{kind}-{counts[kind]}"

    return new_id


def view(
    compiled: CompiledAgent,
    text: str = "hello",
    *,
    messages: Sequence[Mapping[str, JsonValue]] = (),
    facts: Facts | None = None,
    agenda: Sequence[AgendaItem] = (),
    interaction: Interaction | None = None,
    selection: InteractionSelection | None = None,
    at: datetime = AT,
) -> TurnView:
    """A turn of that agent over this state."""
    state = KernelState(tuple(messages), facts or {}, tuple(agenda), interaction)
    return TurnView(compiled, "thread", "turn", None, text, selection, None, {}, at, state, new_ids())


@dataclass(slots=True)
class ScriptedModels:
    """Answers each task with the next JSON of its list, and keeps what was asked."""

    answers: dict[ModelTask, list[JsonValue]] = field(default_factory=dict)
    asked: list[Ask] = field(default_factory=list)  # type: ignore[type-arg]

    async def ask(self, ask: Ask[AnswerT]) -> Answered[AnswerT] | Unusable:
        self.asked.append(ask)
        left = self.answers.get(ask.task)
        assert left, f"nothing is scripted for {ask.task} any more"
        raw = left.pop(0)
        try:
            return Answered(ask.answer.model_validate(raw))
        except ValidationError as error:
            return Unusable(tuple(entry["msg"] for entry in error.errors()), raw)

    @property
    def tasks(self) -> list[str]:
        """The tasks in order."""
        return [ask.task for ask in self.asked]


def parsed(text: str) -> JsonValue:
    """JSON for a script."""
    return loads(text.encode())
