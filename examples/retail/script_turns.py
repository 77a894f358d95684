"""A published conversation as the turns of its customer: one for each operation, and a yes for each write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from examples.retail.conversations import Conversation
from examples.retail.words import YES, marked, request


@dataclass(frozen=True, slots=True)
class UserTurn:
    """One message. `turn_id` is unique among conversations with different ids.

    `click` is the option of the open question that a host may send beside the text; the text alone says the same.
    """

    turn_id: str
    text: str
    action_index: int
    click: Literal["yes"] | None = None


def turns_of(conversation: Conversation) -> tuple[UserTurn, ...]:
    """Everything that the customer says, in order. Each turn is to be sent when the one before it has come to its end,
    which for a blocked one is that of its continuation."""
    return tuple(_turns(conversation))


def _turns(conversation: Conversation) -> Iterator[UserTurn]:
    for index, action in enumerate(conversation["actions"]):
        turn_id = f"{conversation['id']}:{index}"
        yield UserTurn(turn_id, marked(request(action["name"], action["kwargs"]), conversation["id"], index), index)
        if action["write"]:
            yield UserTurn(f"{turn_id}:yes", marked(YES, conversation["id"], index), index, "yes")
