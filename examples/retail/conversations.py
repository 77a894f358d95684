"""Conversations as published: the operations that a correct agent performs, and the records that must have changed."""

from __future__ import annotations

from pathlib import Path
from typing import NotRequired

from intention_kernel.errors import ConfigurationError
from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from examples.retail.records import Changes


@with_config(ConfigDict(extra="forbid"))
class Action(TypedDict):
    """One operation; `write` says that it changes the shop, `error` is the refusal it must give, in somebody's words."""

    name: str
    kwargs: dict[str, JsonValue]
    write: bool
    error: str | None


class Conversation(TypedDict):
    """One customer, who is `user_id`, in a fresh shop. `expected_changes` is what differs after the last action."""

    id: str
    user_id: str
    instruction: NotRequired[str]
    actions: list[Action]
    outputs: NotRequired[list[str]]
    expected_changes: Changes


_CONVERSATIONS = TypeAdapter(list[Conversation])


def load_conversations(file: Path) -> list[Conversation]:
    """The conversations of a file; ConfigurationError where it cannot be read or an id occurs twice."""
    try:
        conversations = _CONVERSATIONS.validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise ConfigurationError(f"{file} does not hold conversations: {error}") from None
    if len({conversation["id"] for conversation in conversations}) < len(conversations):
        raise ConfigurationError(f"{file} holds two conversations with one id")
    return conversations
