"""A model for `fan7-agent` where no provider is configured: it understands the few sentences that FAN-7 needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.models.script import ConversationScript
from intention_kernel.ports.model_gateway import ModelRequest, ModelResult

_RESERVE = re.compile(r".*\breserve (?P<quantity>\d{1,9}) (?P<sku>[A-Z0-9-]+) for FAN-7\b.*", re.IGNORECASE | re.DOTALL)
_ORDER = re.compile(r".*\bwork order\b.*", re.IGNORECASE | re.DOTALL)
_STOCK = re.compile(r".*\bhow many\b(?: (?P<sku>[A-Z0-9]+-[A-Z0-9-]+)\b)?.*", re.IGNORECASE | re.DOTALL)
_YES = re.compile(r"(?:yes|y|ok|okay|sure|go ahead|please do)[.!]?", re.IGNORECASE)
_NO = re.compile(r"(?:no|n|don't|do not|stop)[.!]?", re.IGNORECASE)
_ANYTHING = re.compile(r".*", re.DOTALL)

HELP = (
    'I am a scripted model and understand: "reserve 2 FILTER-A for FAN-7", "yes", "no", "how many FILTER-A are there?" '
    'and "write the work order". With a key of a model provider in the environment you talk to a real one.'
)


class Fan7Model:
    """A ModelGateway without a model and without memory: the same request gets the same answer."""

    async def invoke(self, request: ModelRequest) -> ModelResult:
        """Answer in the sense of the message. Raises nothing of its own."""
        return await _script(is_asked=_has_question(request.input)).invoke(request)


def _script(*, is_asked: bool) -> ConversationScript:
    """The sentences. Yes and no mean something only where a question is open."""
    script = ConversationScript()
    script.when(_RESERVE).proposes("inventory.reserve", _wanted).proposes("inventory.work_order")
    script.when(_STOCK).proposes("inventory.stock", _part)
    script.when(_ORDER).proposes("inventory.work_order")
    yes, no = script.when(_YES), script.when(_NO)
    if is_asked:
        yes.answers(value=True)
        no.answers(value=False)
    script.when(_ANYTHING).says(HELP)
    return script


def _has_question(document: JsonValue) -> bool:
    """Whether a question is open: it is in the turn's context, which some tasks get as a part of their input."""
    if not isinstance(document, dict):
        return False
    return isinstance(document.get("interaction"), dict) or _has_question(document.get("context"))


def _wanted(context: Mapping[str, JsonValue]) -> JsonValue:
    said = cast("re.Match[str]", _RESERVE.fullmatch(_message(context)))
    return {"sku": said["sku"].upper(), "quantity": int(said["quantity"])}


def _part(context: Mapping[str, JsonValue]) -> JsonValue:
    said = cast("re.Match[str]", _STOCK.fullmatch(_message(context)))
    return {"sku": said["sku"].upper()} if said["sku"] else {}


def _message(context: Mapping[str, JsonValue]) -> str:
    current = cast("dict[str, JsonValue]", context["currentMessage"])
    return str(current["content"]).strip()
