"""What goes over the wire: one request, one answer, each a JSON object of one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from intention_kernel.contracts.wire import AnyJson
from intention_kernel.errors import RejectedError
from intention_kernel.verification.bank.faults import Fault, Faults

Operation: TypeAlias = Literal["charge", "reserve", "notify"]

LONGEST_LINE_BYTES = 1 << 20
PAGE_ROWS = 1_000
"""Rows of the ledger or of the calls in one answer; who wants all asks again from the last sequence on."""

_STRICT = ConfigDict(strict=True, extra="forbid")
_Name = Annotated[str, Field(min_length=1, max_length=1_000)]
_Attempt = Annotated[int, Field(ge=1)]


@dataclass(frozen=True, slots=True)
class Write:
    """Do it: `key` is the effect key, which together with the thread names one effect."""

    op: Operation
    thread_id: _Name
    key: _Name
    attempt: _Attempt
    payload: AnyJson
    do: Literal["write"] = "write"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class Find:
    """Was it done? Changes nothing."""

    op: Operation
    thread_id: _Name
    key: _Name
    do: Literal["find"] = "find"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class Close:
    """Was it reserved? If not, every attempt of that key up to `attempt` is refused from now on for ever."""

    thread_id: _Name
    key: _Name
    attempt: _Attempt
    do: Literal["close"] = "close"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class ReadLedger:
    """The next page of what happened, after that sequence."""

    after: int = 0
    do: Literal["ledger"] = "ledger"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class ReadCalls:
    """The next page of the requests that arrived, after that sequence."""

    after: int = 0
    do: Literal["calls"] = "calls"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class SetFaults:
    """What goes wrong from now on, in the place of what did; it is kept over a restart."""

    faults: Faults
    do: Literal["faults"] = "faults"
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class Done:
    """It is done, under this reference. `repeated`: by an earlier request, and this one changed nothing."""

    reference: str
    repeated: bool = False
    kind: Literal["done"] = "done"


@dataclass(frozen=True, slots=True)
class Refused:
    """Certain: this request did nothing and never will. `detail` is for people."""

    detail: str
    kind: Literal["refused"] = "refused"


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The bank failed while it worked on the request. It may have done it or not: this proves nothing."""

    detail: str
    kind: Literal["unavailable"] = "unavailable"


@dataclass(frozen=True, slots=True)
class Wrong:
    """This is no request; nothing was done."""

    detail: str
    kind: Literal["wrong"] = "wrong"


@dataclass(frozen=True, slots=True)
class Known:
    """The first of what was done under the key."""

    reference: str
    payload: AnyJson
    attempt: int
    kind: Literal["known"] = "known"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing was done under the key, now."""

    kind: Literal["unknown"] = "unknown"


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One effect that happened. Sequences rise in the order of the effects."""

    sequence: int
    op: Operation
    thread_id: str
    key: str
    attempt: int
    reference: str


@dataclass(frozen=True, slots=True)
class Call:
    """One request that arrived: `op` is the operation, or `find …` or `close`. `arrival` counts the key's writes of that
    operation from 1, `attempt` is 0 in a find. `faults` are those that struck it."""

    sequence: int
    op: str
    thread_id: str
    key: str
    attempt: int
    arrival: int
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """At most PAGE_ROWS rows."""

    rows: tuple[LedgerRow, ...]
    kind: Literal["ledger"] = "ledger"


@dataclass(frozen=True, slots=True)
class CallsPage:
    """At most PAGE_ROWS rows."""

    rows: tuple[Call, ...]
    kind: Literal["calls"] = "calls"


@dataclass(frozen=True, slots=True)
class FaultsSet:
    """The faults that hold from now on."""

    faults: Faults
    kind: Literal["faults"] = "faults"


Request: TypeAlias = Write | Find | Close | ReadLedger | ReadCalls | SetFaults
Answer: TypeAlias = Done | Refused | Unavailable | Wrong | Known | Unknown | LedgerPage | CallsPage | FaultsSet

_REQUEST: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="do")])
_ANSWER: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="kind")])


def request_line(request: Request) -> bytes:
    """The request with its line feed."""
    return _REQUEST.dump_json(request) + b"\n"


def read_request(line: bytes) -> Request | Wrong:
    """What the line asks for; Wrong names every member that is not as it should be."""
    try:
        return _REQUEST.validate_json(line)
    except ValidationError as error:
        return Wrong(problems_of(error))


def answer_line(answer: Answer) -> bytes:
    """The answer with its line feed."""
    return _ANSWER.dump_json(answer) + b"\n"


def read_answer(line: bytes) -> Answer:
    """What the line says; raises RejectedError where it is no answer of a bank."""
    try:
        return _ANSWER.validate_json(line)
    except ValidationError as error:
        raise RejectedError("no_answer", problems_of(error)) from error


def problems_of(error: ValidationError) -> str:
    """What is wrong, member by member, in one line."""
    found = error.errors(include_url=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}".removeprefix(": ") for one in found)
