"""What a turn of `payer` is to do, as values: written by whoever sends the turn, read by the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import AnyJson
from intention_kernel.verification.bank.messages import problems_of

_STRICT = ConfigDict(strict=True, extra="forbid")
_Key = Annotated[str, Field(min_length=1, max_length=100)]
_Amount = Annotated[int, Field(ge=1)]


@dataclass(frozen=True, slots=True)
class Charge:
    """Effect `bank.charge:<key>`: found out by a lookup and a quiet period."""

    key: _Key
    amount: _Amount = 1
    do: Literal["charge"] = "charge"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class Reserve:
    """Effect `bank.reserve:<key>`: found out by a lookup that closes the key."""

    key: _Key
    amount: _Amount = 1
    do: Literal["reserve"] = "reserve"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class Notify:
    """Effect `bank.notify:<key>`: found out by the same call again."""

    key: _Key
    text: str = "paid"
    do: Literal["notify"] = "notify"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class Ask:
    """A result that joins the journal: another one at every call, so that a second call shows."""

    name: _Key
    do: Literal["ask"] = "ask"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class Pause:
    """Real time passes, in every attempt again."""

    seconds: Annotated[float, Field(ge=0, le=600)]
    do: Literal["pause"] = "pause"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class Emit:
    """So many events `payer.emitted`."""

    count: Annotated[int, Field(ge=1, le=10_000)]
    do: Literal["emit"] = "emit"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class Die:
    """SIGKILL of the process that runs the turn, in every attempt: a poison turn."""

    do: Literal["die"] = "die"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


Step: TypeAlias = Charge | Reserve | Notify | Ask | Pause | Emit | Die


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a turn in their order, and the facts (type → value) that it leaves where it gets to its end."""

    steps: tuple[Annotated[Step, Field(discriminator="do")], ...]
    facts: Mapping[str, AnyJson] = field(default_factory=dict)
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The text is no plan: `detail` names everything that is wrong with it."""

    detail: str


_PLAN = TypeAdapter(Plan)


def turn_text(steps: Iterable[Step], facts: Mapping[str, JsonValue] | None = None) -> str:
    """The `input.text` of a turn that takes these steps."""
    return _PLAN.dump_json(Plan(tuple(steps), facts or {})).decode()


def read_plan(text: str) -> Plan | Unreadable:
    """What the turn is to do; a step that is not known makes all of it Unreadable."""
    try:
        return _PLAN.validate_json(text)
    except ValidationError as error:
        return Unreadable(problems_of(error))
