"""A compiled agent's memory with types, and the turn that is about to change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar, cast

from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.checkpoint import Checkpoint
from intention_kernel.contracts.facts import FactRecord, Facts
from intention_kernel.contracts.interactions import Interaction, InteractionSelection
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import StoredModel
from intention_kernel.runtime.stages.memory import message_count

_ModelT = TypeVar("_ModelT", bound=StoredModel)

NewId = Callable[[str], str]
"""kind -> the turn's next id of that kind; the same on every attempt (protocol R17)."""


@dataclass(frozen=True, slots=True)
class KernelState:
    """What the kernel decides over: facts by `type@version`, the agenda in order, the one active question, messages.

    A message is `{"role", "text", "turnId", "at", "index"}`; `index` counts all messages of the thread, also those that have
    left the window. `stored` is what the values were read from: one that is still the same is stored again as it was, in the
    order and with the numbers of whoever wrote it.
    """

    messages: tuple[Mapping[str, JsonValue], ...]
    facts: Facts
    agenda: tuple[AgendaItem, ...]
    interaction: Interaction | None
    stored: tuple[tuple[StoredModel, dict[str, JsonValue]], ...] = field(default=(), compare=False, repr=False)

    def item(self, item_id: str) -> AgendaItem | None:
        """The agenda item of that id."""
        return next((item for item in self.agenda if item.id == item_id), None)


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn as the stages see it: what came in, who asks, and the state as it was loaded.

    `at` is the request's time, aware UTC. `host_context` is the host's and reaches policies and capabilities only.
    """

    agent: CompiledAgent
    thread_id: str
    turn_id: str
    tenant_id: str | None
    text: str
    selection: InteractionSelection | None
    summary: str | None
    host_context: Mapping[str, JsonValue]
    at: datetime
    state: KernelState
    new_id: NewId

    @property
    def message_index(self) -> int:
        """Of the current message."""
        return message_count(self.state.messages)


def state_of(checkpoint: Checkpoint) -> KernelState:
    """The checkpoint's memory with types. Members that this build does not know stay with their values."""
    stored: list[tuple[StoredModel, dict[str, JsonValue]]] = []

    def read(model: type[_ModelT], document: JsonValue) -> _ModelT:
        value = model.from_json(document)
        stored.append((value, cast("dict[str, JsonValue]", document)))
        return value

    interaction = checkpoint.interaction
    return KernelState(
        messages=checkpoint.messages,
        facts={key: read(FactRecord, dict(record)) for key, record in checkpoint.facts.items()},
        agenda=tuple(read(AgendaItem, dict(item)) for item in checkpoint.agenda),
        interaction=read(Interaction, interaction) if interaction is not None else None,
        stored=tuple(stored),
    )


def with_state(checkpoint: Checkpoint, state: KernelState) -> Checkpoint:
    """The checkpoint with this memory; receipts and unknown members stay."""
    # By identity: `state.stored` keeps the values alive, so that no other has the id of one of them.
    stored = {id(value): document for value, document in state.stored}

    def written(value: StoredModel) -> dict[str, JsonValue]:
        document = stored.get(id(value))
        return document if document is not None else value.to_json()

    return replace(
        checkpoint,
        messages=state.messages,
        facts={key: written(record) for key, record in state.facts.items()},
        agenda=tuple(written(item) for item in state.agenda),
        interaction=written(state.interaction) if state.interaction is not None else None,
    )
