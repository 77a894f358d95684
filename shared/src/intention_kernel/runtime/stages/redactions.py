"""What no model may read: strings that capabilities named, taken out of every text that a model is sent (design 6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from intention_kernel.contracts.json_codec import JsonValue

REDACTED = "[redacted]"
MIN_LENGTH = 3
"""Shorter strings are not redacted: they would take half of a text with them."""


@dataclass(frozen=True, slots=True)
class Redactions:
    """Strings to take out, the longest first."""

    strings: tuple[str, ...] = ()

    @classmethod
    def of(cls, strings: Iterable[str]) -> Redactions:
        """The usable ones of these, each once."""
        usable = {string for string in strings if len(string) >= MIN_LENGTH}
        return cls(tuple(sorted(usable, key=lambda string: (-len(string), string))))

    def text(self, text: str) -> str:
        """The text without them."""
        for string in self.strings:
            text = text.replace(string, REDACTED)
        return text

    def value(self, value: JsonValue) -> JsonValue:
        """The value with every string redacted; names of members and numbers stay."""
        if not self.strings:
            return value
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return {name: self.value(member) for name, member in value.items()}
            case _:
                return value
