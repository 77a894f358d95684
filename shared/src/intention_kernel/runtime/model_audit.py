"""What `model.invoked` shows: which prompt, which context and what was offered, as the model got it (contract 4)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import cast

from intention_kernel.agent.prompts.prompt import Prompt
from intention_kernel.contracts.digest import digest
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.ports.model_gateway import ModelRequest
from intention_kernel.runtime.events import MAX_AUDIT_BYTES

Data = dict[str, JsonValue]

_REASONING = ("chainOfThought", "privateReasoning", "rawReasoning")
_ENCODED_REASONING = tuple(name.encode() for name in _REASONING)

_FACT = ("type", "version", "value", "producedBy")
_INTERACTION = ("id", "kind", "capabilityId", "goal", "options")
_GUIDANCE = ("id", "version", "matchedSelectors")


def context_audit(projection: Mapping[str, JsonValue]) -> Data:
    """The context of a turn as every `model.invoked` shows it: messages, facts with their provenance, what is open."""
    conversation = cast("Data", projection["conversation"])
    shown: Data = {
        "currentMessage": projection["currentMessage"],
        "interactionSelection": projection.get("interactionSelection"),
        "recentMessages": conversation["recentMessages"],
        "totalMessages": conversation["totalMessages"],
        "facts": _each(projection["facts"], _FACT),
        "interaction": _only(projection.get("interaction"), _INTERACTION),
        "agenda": projection["agenda"],
        "selectedModelGuidancePolicies": _each(projection["selectedModelGuidancePolicies"], _GUIDANCE),
        "omissions": projection["omissions"],
    }
    return shown


def request_audit(request: ModelRequest, prompt: Prompt, context: Data, more: Mapping[str, JsonValue]) -> JsonValue:
    """The audit of one request; `more` is what its stage adds, such as a rejected proposal. Cut to a digest where it is large."""
    return bounded(
        {
            "instructionDigest": _sha256(request.system),
            "prompt": {"id": prompt.id, "contractVersion": prompt.version, "templateHash": _sha256(prompt.text)},
            "context": context,
            "capabilities": [
                {"id": c.id, "detail": c.detail, "availability": c.availability, "blockedBy": list(c.blocked_by)}
                for c in request.capabilities
            ],
            **more,
        }
    )


def bounded(data: JsonValue) -> JsonValue:
    """The data, or its digest and size beyond the most that an event shows: observation never makes a turn fail (design 6).

    What a model thought to itself is left out, where an answer has it as a member of one of the usual names.
    """
    encoded = dumps(data)
    if any(name in encoded for name in _ENCODED_REASONING):
        data = _without_reasoning(data)
        encoded = dumps(data)
    return data if len(encoded) <= MAX_AUDIT_BYTES else {"digest": digest(data).hex(), "bytes": len(encoded)}


def _without_reasoning(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_without_reasoning(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_reasoning(member) for name, member in value.items() if name not in _REASONING}
    return value


@lru_cache(maxsize=256)
def _sha256(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _only(value: JsonValue, names: tuple[str, ...]) -> JsonValue:
    if not isinstance(value, dict):
        return value
    return {name: value[name] for name in names if name in value}


def _each(values: JsonValue, names: tuple[str, ...]) -> JsonValue:
    return [_only(value, names) for value in cast("list[JsonValue]", values)]
