"""A model for the agent where no provider is configured: it plays the operations of published conversations.

It sees what a model sees and nothing else: a message ends with a marker, which it looks up in the files of conversations.
What it proposes is that operation; a yes or a no answers the confirmation that is open,
and means nothing where none is. Everything else (selection,
reviews, words) is `ConversationScript`'s, and the kernel judges it as it judges any model's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ConfigurationError, ModelGatewayError
from intention_kernel.models.script import ConversationScript
from intention_kernel.models.script_reading import Reading
from intention_kernel.ports.model_gateway import ModelRequest, ModelResult

from examples.retail.conversations import Action, load_conversations
from examples.retail.records import EXTRACT
from examples.retail.words import NO, YES, Marked, read_marker

HELP = (
    "I am a scripted model and understand only messages of the conversations that I was given, which end with a marker "
    "such as [train-17 · 3]. With a key of a model provider in the environment you talk to a real one."
)

_ANYTHING = re.compile(r".*", re.DOTALL)


def script_files(named: str | None) -> tuple[Path, ...]:
    """The file that RETAIL_SCRIPT names, or the extract's."""
    if named:
        return (Path(named),)
    return (EXTRACT / "conversations.json", EXTRACT / "conversations_with_reads.json")


class RetailModel:
    """A ModelGateway without a model and without memory: the same request gets the same answer.

    Raises ConfigurationError where a file cannot be read, or a conversation is in two.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._actions = _actions_of(files)

    async def invoke(self, request: ModelRequest) -> ModelResult:
        """Answer in the sense of the message. MODEL_SCRIPT_MISSING where its marker names no operation of the files."""
        reading = Reading.of(request)
        return await self._script(reading).invoke(request)

    def _script(self, reading: Reading) -> ConversationScript:
        script = ConversationScript()
        line = script.when(_ANYTHING)
        found = read_marker(reading.words)
        if found is None:
            line.says(HELP)
        elif found.said in (YES, NO):
            if _confirms(reading.context):
                line.answers(value=found.said == YES)
        else:
            action = self._action(found)
            line.proposes(action["name"], cast("JsonValue", action["kwargs"]), objective=found.said)
        return script

    def _action(self, found: Marked) -> Action:
        actions = self._actions.get(found.conversation_id, ())
        if found.action_index >= len(actions):
            detail = f"the files hold no operation {found.action_index} of conversation {found.conversation_id!r}"
            raise ModelGatewayError("MODEL_SCRIPT_MISSING", detail)
        return actions[found.action_index]


def _actions_of(files: Sequence[Path]) -> dict[str, Sequence[Action]]:
    found: dict[str, Sequence[Action]] = {}
    for file in files:
        for conversation in load_conversations(file):
            if conversation["id"] in found:
                raise ConfigurationError(f"{file} holds conversation {conversation['id']!r}, as another file does")
            found[conversation["id"]] = conversation["actions"]
    return found


def _confirms(context: Mapping[str, JsonValue]) -> bool:
    """Whether the open question is a confirmation."""
    interaction = context.get("interaction")
    return isinstance(interaction, dict) and interaction.get("kind") == "confirmation"
