"""The turn request: the one record that starts a turn (interface 2)."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from intention_kernel.contracts.digest import digest
from intention_kernel.contracts.identifiers import RESERVED_TURN_PREFIX, continuation_turn_id
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.contracts.wire import AnyJson, Identifier, JsonObject, Text, WireModel
from intention_kernel.errors import JsonError, RejectedError

MAX_REQUEST_BYTES = 1_048_576
"""A larger request is rejected; Kafka's own default for a record is the same."""

MAX_DEADLINE_SECONDS = 86_400.0

MAX_COUNT = 2_147_483_647
"""Of settlements and issues; what a producer names beyond it cannot exist, and no column holds it."""

_SHOWN_PROBLEMS = 20


def version_number(value: object) -> object:
    """`value`, where it is not a boolean: true equals 1 in Python, and nowhere else."""
    if isinstance(value, bool):
        raise PydanticCustomError("version", "is not a number")
    return value


class TurnInput(WireModel):
    """What the user said: text, the option chosen in an interaction, a summary of what a client did."""

    text: Text
    interaction_selection: AnyJson = None
    summary: Text | None = None


class UserTrigger(WireModel):
    """A person or a program asked for the turn."""

    kind: Literal["user"] = "user"


class ReconciliationTrigger(WireModel):
    """A receipt was settled: the turn goes on with the steps that wait for it (protocol R28)."""

    kind: Literal["reconciliation"] = "reconciliation"
    receipt_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    settlement: Annotated[int, Field(ge=1, le=MAX_COUNT)]


class TurnRequest(WireModel):
    """One request for one turn. `input` is absent only in a continuation."""

    schema_version: Annotated[Literal[1], BeforeValidator(version_number)]
    thread_id: Identifier
    turn_id: Identifier
    agent_id: Identifier
    tenant_id: Identifier | None = None
    input: TurnInput | None = None
    host_context: JsonObject = Field(default_factory=dict)
    deadline_seconds: Annotated[float, Field(gt=0, le=MAX_DEADLINE_SECONDS)] | None = None
    correlation_id: Identifier | None = None
    trigger: Annotated[UserTrigger | ReconciliationTrigger, Field(discriminator="kind")] = UserTrigger()

    def content_digest(self) -> bytes:
        """What makes two requests the same content: agent, tenant, input and trigger, nothing else (interface 2).

        Computed once: begin and commit say the same, whatever a program did to its input meanwhile.
        """
        return self._content_digest

    @cached_property
    def _content_digest(self) -> bytes:
        wire = self.model_dump(by_alias=True, mode="python")
        return digest({name: wire[name] for name in ("agentId", "tenantId", "input", "trigger")})

    def correlation(self) -> str:
        """The correlation id, which is the turn id where the producer gave none."""
        return self.correlation_id or self.turn_id


def decode_turn_request(key: bytes | None, value: bytes | None) -> TurnRequest:
    """The request in a record, or RejectedError with a stable `reason` and a `detail` that names the member."""
    if value is None or not value:
        raise RejectedError("missing_value", "the record has no value")
    if len(value) > MAX_REQUEST_BYTES:
        raise RejectedError("too_large", f"the request has {len(value)} bytes, the most is {MAX_REQUEST_BYTES}")
    try:
        document = loads(value)
    except JsonError as error:
        raise RejectedError("not_json", str(error)) from error
    request = _validated(document)
    if key != request.thread_id.encode():
        raise RejectedError("key_mismatch", "the record's key is not the UTF-8 of threadId")
    _check_trigger(request)
    return request


def encode_turn_request(request: TurnRequest) -> bytes:
    """The wire bytes; members that are absent stay absent."""
    return dumps(request.model_dump(by_alias=True, mode="python", exclude_none=True))


def _validated(document: JsonValue) -> TurnRequest:
    if not isinstance(document, dict):
        raise RejectedError("invalid", "the request is not a JSON object")
    try:
        return TurnRequest.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        raise RejectedError("invalid", problems_of(error)) from error


def problems_of(error: ValidationError) -> str:
    """What is wrong with a record, member by member; the first of them, where there are many."""
    problems = []
    for entry in error.errors(include_url=False, include_input=False):
        place = ".".join(str(part) for part in entry["loc"])
        known = {"extra_forbidden": "unknown member", "missing": "is missing"}
        problems.append(f"{place}: {known.get(entry['type'], entry['msg'])}")
    return "; ".join(problems[:_SHOWN_PROBLEMS])


def _check_trigger(request: TurnRequest) -> None:
    reserved = request.turn_id.startswith(RESERVED_TURN_PREFIX)
    if isinstance(request.trigger, UserTrigger):
        if reserved:
            raise RejectedError("reserved_turn_id", f"turnId: the prefix {RESERVED_TURN_PREFIX!r} is reserved")
        if request.input is None:
            raise RejectedError("invalid", "input: is missing")
        return
    issue = continuation_issue(request.turn_id, request.trigger)
    if issue is None:
        raise RejectedError("forged_continuation", "turnId is not the one derived from receiptId and settlement")
    if request.input is not None:
        raise RejectedError("forged_continuation", "a continuation carries ids only, no input")


def continuation_issue(turn_id: str, trigger: ReconciliationTrigger) -> int | None:
    """The issue number in a continuation's turn id, or None where the id is not the derived one."""
    _, _, last = turn_id.rpartition(":")
    if not last.isascii() or not last.isdigit():
        return None
    derived = continuation_turn_id(trigger.receipt_id, trigger.settlement, int(last))
    return int(last) if turn_id == derived and int(last) <= MAX_COUNT else None
