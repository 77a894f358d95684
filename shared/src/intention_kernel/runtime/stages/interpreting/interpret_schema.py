"""What an interpreting model is told to generate: the form of a batch, narrowed to the ids of this turn (contract 2.6).

Validation is wider (interpret_proposal.py): it also takes exact values of options, and says what is wrong in words.
"""

from __future__ import annotations

from collections.abc import Mapping

from intention_kernel.contracts.intentions import MAX_RATIONALE_LENGTH
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.interpreting.interpret_frame import Frame

Schema = dict[str, JsonValue]

_TEXT: Schema = {"type": "string"}
_WORDS: Schema = {"type": "string", "minLength": 1}
_RATIONALE: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_RATIONALE_LENGTH}


def batch_schema(frame: Frame) -> Schema:
    """The JSON Schema of a batch for this turn."""
    members: Schema = {"intentions": _intentions(frame), "contradictions": _list(_contradiction())}
    optional: Schema = {}
    if frame.interaction is not None and not frame.clicked:
        optional["answerToInteraction"] = _answer(frame)
    if frame.may_act_on_agenda:
        members["lifecycleActions"] = _lifecycle(frame)
    return _object(members, optional)


def _answer(frame: Frame) -> Schema:
    interaction = frame.interaction
    shown = frame.shown(interaction.id) if interaction is not None else ""
    return _object(
        {"interactionId": {"type": "string", "enum": [shown]}, "value": _value(frame), "evidence": _WORDS},
        {"rationale": _RATIONALE},
    )


def _value(frame: Frame) -> Schema:
    if frame.is_confirmation:
        return {"type": "boolean"}
    if frame.choice is not None:
        return {"type": "string", "enum": list(dict.fromkeys(frame.choice.shown_ids))}
    return {}


def _intentions(frame: Frame) -> Schema:
    allowed: list[JsonValue] = []
    if frame.selection.capability_ids:
        allowed.append(_resolved(frame.selection.capability_ids))
    if frame.selection.mode != "conversational":
        allowed += [_ambiguous(), _intention({"resolution": {"type": "string", "enum": ["unsupported"]}}, {})]
    return _list({"anyOf": allowed}) if allowed else {"type": "array", "items": {"type": "object"}, "maxItems": 0}


def _resolved(capability_ids: tuple[str, ...]) -> Schema:
    return _intention(
        {
            "resolution": {"type": "string", "enum": ["resolved"]},
            "proposedCapability": {"type": "string", "enum": list(capability_ids)},
        },
        {"input": {}},
    )


def _ambiguous() -> Schema:
    alternatives: Schema = {"type": "array", "items": _WORDS, "minItems": 2}
    return _intention({"resolution": {"type": "string", "enum": ["ambiguous"]}, "alternatives": alternatives}, {})


def _intention(members: Mapping[str, JsonValue], optional: Mapping[str, JsonValue]) -> Schema:
    common: Schema = {
        "objective": _WORDS,
        "evidence": _evidence(),
        "references": _list(_object({"expression": _TEXT, "target": _TEXT, "evidence": _TEXT}, {})),
    }
    return _object(common | dict(members), {"rationale": _RATIONALE, **optional})


def _contradiction() -> Schema:
    return _object({"description": _TEXT, "evidence": _evidence()}, {})


def _lifecycle(frame: Frame) -> Schema:
    targets: list[JsonValue] = list(dict.fromkeys(frame.shown(item.id) for item in frame.view.state.agenda))
    if not targets:
        return {"type": "array", "items": {"type": "object"}, "maxItems": 0}
    kind: Schema = {"type": "string", "enum": ["cancel_agenda_item"]}
    target: Schema = {"type": "string", "enum": targets}
    return _list(_object({"kind": kind, "targetId": target, "evidence": _WORDS}, {}))


def _evidence() -> Schema:
    entry = _object({"text": _TEXT, "meaning": _TEXT, "messageIndex": {"type": "integer", "minimum": 0}}, {})
    return {"type": "array", "items": entry, "minItems": 1}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(members: Mapping[str, JsonValue], optional: Mapping[str, JsonValue]) -> Schema:
    return {
        "type": "object",
        "properties": {**members, **optional},
        "required": list(members),
        "additionalProperties": False,
    }
