"""What an operation comes to: a closed union, and nothing has happened yet. Whoever asked decides what to do with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from examples.retail.records import Order, Product, User

Result: TypeAlias = User | Order | Product | Mapping[str, str] | str | float
"""What the customer's side gets to see; JSON."""


@dataclass(frozen=True, slots=True)
class Change:
    """A write is allowed: these records are to be replaced, all of them or none."""

    result: Result
    orders: Mapping[str, Order] = field(default_factory=dict)
    users: Mapping[str, User] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A read's answer; nothing is to be changed."""

    result: Result


@dataclass(frozen=True, slots=True)
class Refusal:
    """The rules do not allow it; nothing is to be changed. `code` is for programs, `message` says what would be allowed."""

    code: str
    message: str


Outcome: TypeAlias = Change | Answer | Refusal
