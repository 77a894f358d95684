"""What an application's code is given of the thread: values of its own, so that nothing which it does to them is memory.

A capability that counts in its continuation, or a policy that completes an input, would otherwise change what the user has
confirmed, what a blocked step is resumed with, or a fact that nobody has published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from intention_kernel.contracts.facts import FactRecord, Facts
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import StoredModel

_ModelT = TypeVar("_ModelT", bound=StoredModel)


def own_json(value: JsonValue) -> JsonValue:
    """A copy of a JSON value."""
    match value:
        case dict():
            return {name: own_json(member) for name, member in value.items()}
        case list():
            return [own_json(item) for item in value]
        case _:
            return value


def own(value: _ModelT | None) -> _ModelT | None:
    """A copy of a value of the checkpoint, down to its JSON."""
    return value.model_copy(deep=True) if value is not None else None


class OwnFacts(Mapping[str, FactRecord]):
    """The facts, each of which is copied when it is first looked at; there may be a thousand."""

    __slots__ = ("_copies", "_facts")

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._copies: dict[str, FactRecord] = {}

    def __getitem__(self, key: str) -> FactRecord:
        found = self._copies.get(key)
        if found is None:
            found = self._copies[key] = self._facts[key].model_copy(deep=True)
        return found

    def __contains__(self, key: object) -> bool:
        return key in self._facts

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        return repr(dict(self))
