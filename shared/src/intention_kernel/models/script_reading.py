"""What a scripted model reads out of a request: the message, the open question and the agenda, as models see them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import cast

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.model_gateway import ModelRequest

Document = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Reading:
    """`input` is the request's; `context` the turn's, which some tasks get under a name; `brief` that of a response task.

    `members` are those that an answer may have, where its form is an object's; `capabilities` the ids of those offered.

    `text` is None where nobody has said anything, in the turn that follows a settlement.
    """

    input: Document
    context: Document
    brief: Document
    members: frozenset[str]
    capabilities: tuple[str, ...]

    @classmethod
    def of(cls, request: ModelRequest) -> Reading:
        """The parts of the request's input."""
        given = _object(request.input)
        brief = (_object(given.get("brief")) or given) if request.task.startswith("response.") else {}
        members = frozenset(_object(request.output_schema.get("properties")))
        offered = tuple(capability.id for capability in request.capabilities)
        return cls(given, _object(given.get("context")) or given, brief, members, offered)

    @property
    def text(self) -> str | None:
        """The current message."""
        said = _object(self.brief.get("conversation")).get("currentMessage") if self.brief else None
        if said is None:
            said = _object(self.context.get("currentMessage")).get("content")
        return said if isinstance(said, str) else None

    @property
    def words(self) -> str:
        """The current message, as evidence quotes it."""
        return self.text or ""

    @property
    def message_index(self) -> int:
        """Of the current message."""
        return cast("int", _object(self.context["currentMessage"])["index"])

    @property
    def interaction(self) -> Document:
        """The open question; LookupError where none is."""
        found = _object(self.context.get("interaction"))
        if not found:
            raise LookupError("it answers a question, and none is open")
        return found

    def offered(self, capability_id: str) -> str:
        """The id, if the agent has such a capability; LookupError where it has none."""
        if capability_id in self.capabilities:
            return capability_id
        near = get_close_matches(capability_id, self.capabilities, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(self.capabilities)}"
        raise LookupError(f"it proposes {capability_id}, and the agent has no such capability ({hint})")

    def option(self, value: JsonValue) -> Document:
        """The option of that id, label or value; LookupError where the question has none."""
        options = objects(self.interaction.get("options"))
        for member in ("id", "label", "value"):
            for option in options:
                if option.get(member) == value:
                    return option
        raise LookupError(f"the open question has no option {value!r}")

    def agenda_item(self, capability_id: str) -> Document:
        """The first item of that capability; LookupError where there is none."""
        for item in objects(self.context.get("agenda")):
            if _object(item.get("intention")).get("proposedCapability") == capability_id:
                return item
        raise LookupError(f"it cancels {capability_id}, and nothing on the agenda is for that")


def objects(value: JsonValue) -> list[Document]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _object(value: JsonValue) -> Document:
    return value if isinstance(value, dict) else {}
