"""What a typed line chooses among the options that were shown."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.cli.chat_text import objects_of
from intention_kernel.cli.output import Document
from intention_kernel.contracts.json_codec import JsonValue


@dataclass(frozen=True, slots=True)
class Choice:
    """A click on an option: what the user would have said, and the `interactionSelection`."""

    label: str
    click: JsonValue


def chosen(text: str, question: Document | None) -> Choice | None:
    """The option whose number or words the line is; None where it is a message, to be understood as one.

    A number that is also the words of another option chooses neither.
    """
    if question is None:
        return None
    options = objects_of(question.get("options"))
    said = text.strip().casefold()
    numbered = [options[int(said) - 1]] if _is_number(said, len(options)) else []
    named = [option for option in options if str(option.get("label")).strip().casefold() == said]
    found = {str(option.get("id")): option for option in (*numbered, *named)}
    if len(found) != 1:
        return None
    (option,) = found.values()
    return Choice(str(option.get("label")), {"interactionId": question.get("id"), "optionId": option.get("id")})


def _is_number(said: str, count: int) -> bool:
    return said.isascii() and said.isdecimal() and len(said) <= len(str(count)) and 1 <= int(said) <= count
