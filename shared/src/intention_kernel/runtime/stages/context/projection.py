"""What models may read of a turn: members are named one by one, so that a new private one stays private (contract 2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from pydantic.alias_generators import to_camel

from intention_kernel.agent.policy import GuidanceExample
from intention_kernel.contracts.agenda import PUBLIC_MEMBERS
from intention_kernel.contracts.event import rfc3339
from intention_kernel.contracts.facts import FactRecord, Facts
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import StoredModel
from intention_kernel.runtime.stages.context.clicks import is_expired
from intention_kernel.runtime.stages.memory import message_count
from intention_kernel.runtime.stages.redactions import Redactions
from intention_kernel.runtime.stages.snapshot import Omission, SelectedGuidance
from intention_kernel.runtime.stages.state import KernelState, TurnView

Data = dict[str, JsonValue]

_FACT = ("type", "version", "value", "model_visibility", "evidence_ids", "depends_on", "produced_by")
_EVIDENCE = ("id", "source", "content")
_INTERACTION = ("id", "kind", "requested_facts", "goal", "capability_id", "options", "payload")


def private_strings(state: KernelState) -> Iterator[str]:
    """What no model may read, wherever it stands: declared redactions, and texts that are for the user alone."""
    for record in state.facts.values():
        yield from record.model_redactions
    for item in state.agenda:
        yield from item.model_redactions
    for interaction in _interactions(state):
        if interaction.protected_canonical_message is not None:
            yield interaction.protected_canonical_message


def projection_of(
    view: TurnView, guidance: Sequence[SelectedGuidance], redactions: Redactions
) -> tuple[Data, tuple[Omission, ...]]:
    """The turn as JSON for models, and what was left out of it."""
    definition = view.agent.definition
    recent = _recent(view)
    omissions = tuple(_omissions(view, len(recent)))
    said: Data = {
        "conversation": _conversation(view, recent),
        "currentMessage": _current(view),
        "facts": [_fact(record) for record in view.state.facts.values() if record.model_visibility != "hidden"],
        "agenda": [_known(item, PUBLIC_MEMBERS) for item in view.state.agenda],
    }
    if view.state.interaction is not None:
        said["interaction"] = _interaction(view.state.interaction, view)
    if view.selection is not None:
        said["interactionSelection"] = _known(view.selection)
    fixed: Data = {
        "agent": {"id": definition.id, "version": definition.version, "identity": definition.identity},
        "policies": _policies(view),
        "selectedModelGuidancePolicies": [_guidance(selected) for selected in guidance],
        "omissions": [{"path": o.path, "reason": o.reason, "omitted": o.omitted} for o in omissions],
    }
    return cast("Data", redactions.value(said)) | fixed, omissions


def _interactions(state: KernelState) -> Iterator[Interaction]:
    if state.interaction is not None:
        yield state.interaction
    for item in state.agenda:
        if item.interaction is not None:
            yield item.interaction
        for step in (item.frozen, item.blocked.step if item.blocked is not None else None):
            if step is not None and step.interaction is not None:
                yield step.interaction
        if item.deferred_choice_answer is not None:
            yield item.deferred_choice_answer.interaction


def _recent(view: TurnView) -> Sequence[Mapping[str, JsonValue]]:
    most = view.agent.definition.recent_messages
    return view.state.messages[-most:] if most else ()


def _conversation(view: TurnView, recent: Sequence[Mapping[str, JsonValue]]) -> Data:
    conversation: Data = {
        "recentMessages": [_message(message) for message in recent],
        "totalMessages": message_count(view.state.messages),
    }
    return conversation | ({"summary": view.summary} if view.summary is not None else {})


def _message(message: Mapping[str, JsonValue]) -> Data:
    content = message.get("modelText", message.get("text"))
    return {"role": message.get("role"), "content": content, "at": message.get("at"), "index": message.get("index")}


def _current(view: TurnView) -> Data:
    return {"role": "user", "content": view.text, "at": rfc3339(view.at), "index": view.message_index}


def _fact(record: FactRecord) -> Data:
    shown = _known(record, _FACT)
    if record.model_visibility == "presence":
        return shown | {"value": {"available": True}, "evidenceIds": [], "evidence": []}
    return shown | {"evidence": [_known(evidence, _EVIDENCE) for evidence in record.evidence]}


def _interaction(interaction: Interaction, view: TurnView) -> Data:
    """An expired question is shown all the same: the user may well answer it, and is told that it is too late."""
    return _known(interaction, _INTERACTION) | ({"expired": True} if is_expired(interaction, view.at) else {})


def _policies(view: TurnView) -> list[JsonValue]:
    policies = sorted(view.agent.definition.policies, key=lambda policy: policy.id)
    return [{"id": policy.id, "version": policy.version} for policy in policies]


def _guidance(selected: SelectedGuidance) -> Data:
    definition = selected.definition
    return {
        "id": definition.id,
        "version": definition.version,
        "description": definition.description,
        "instructions": list(definition.instructions),
        "examples": _examples(definition.examples),
        "counterExamples": _examples(definition.counter_examples),
        "matchedSelectors": list(selected.matched_selectors),
    }


def _examples(examples: Iterable[GuidanceExample]) -> list[JsonValue]:
    return [{"input": example.input, "expectedBehavior": example.expected_behavior} for example in examples]


def _omissions(view: TurnView, shown_messages: int) -> Iterator[Omission]:
    left_out = message_count(view.state.messages) - shown_messages
    if left_out:
        yield Omission("conversation.messages", "only the most recent messages are shown", left_out)
    if hidden := _count(view.state.facts, "hidden"):
        yield Omission("facts", "hidden from models", hidden)
    if present := _count(view.state.facts, "presence"):
        yield Omission("facts.value", "only their presence is shown", present)


def _count(facts: Facts, visibility: str) -> int:
    return sum(record.model_visibility == visibility for record in facts.values())


def _known(value: StoredModel, names: Iterable[str] | None = None) -> Data:
    """Members that were given, of these names, and of nested values those that this build knows."""
    members = type(value).model_fields if names is None else names
    given = [name for name in members if name in value.model_fields_set]
    return {to_camel(name): _plain(getattr(value, name)) for name in given}


def _plain(value: object) -> JsonValue:
    if isinstance(value, StoredModel):
        return cast("JsonValue", _known(value))
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return cast("JsonValue", value)
