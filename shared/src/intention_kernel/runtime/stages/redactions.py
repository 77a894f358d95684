"""What no model may read: strings that capabilities named, taken out of every text that a model is sent (design 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

    def plus(self, strings: Iterable[str]) -> Redactions:
        """These and more."""
        return Redactions.of((*self.strings, *strings))

    def text(self, text: str) -> str:
        """The text without them; where some overlap, without all that any of them covers. Twice is the same as once."""
        if not any(string in text for string in self.strings):
            return text
        return REDACTED.join(self._piece(piece) for piece in text.split(REDACTED))

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

    def _piece(self, text: str) -> str:
        kept: list[str] = []
        end = 0
        for covered_from, covered_to in self._covered(text):
            kept += text[end:covered_from], REDACTED
            end = covered_to
        return "".join((*kept, text[end:]))

    def _covered(self, text: str) -> Iterator[tuple[int, int]]:
        """The stretches that the strings cover, in order and apart."""
        found = sorted((at, at + len(string)) for string in self.strings for at in _places(text, string))
        start, end = found[0] if found else (0, 0)
        for at, to in found:
            if at >= end:
                yield start, end
                start = at
            end = max(end, to)
        if end:
            yield start, end


def _places(text: str, string: str) -> Iterator[int]:
    at = text.find(string)
    while at >= 0:
        yield at
        at = text.find(string, at + 1)
