"""The decision record: what somebody outside concluded about a receipt (interface 2, receipts.resolutions)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError

from intention_kernel.contracts.json_codec import loads
from intention_kernel.contracts.turn_request import MAX_REQUEST_BYTES, problems_of, version_number
from intention_kernel.contracts.wire import AnyJson, Identifier, Text, WireModel
from intention_kernel.errors import JsonError, RejectedError

MAX_VERSION = 2**63 - 1
"""Of a receipt; what a writer names beyond it cannot exist, and no column holds it."""


class ResolutionRecord(WireModel):
    """One decision. `decision_id` is the writer's: however often the record comes, it is one decision.

    `value` and `reference` are the provider's, of what was applied; a value that is absent is null.
    """

    schema_version: Annotated[Literal[1], BeforeValidator(version_number)]
    decision_id: Identifier
    receipt_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    expected_version: Annotated[int, Field(ge=1, le=MAX_VERSION)]
    resolution: Literal["applied", "not_applied"]
    value: AnyJson = None
    reference: Text | None = None
    reason: Text
    actor: Identifier


def decode_resolution(value: bytes | None) -> ResolutionRecord:
    """The decision in a record's value; its key says nothing. RejectedError has a stable `reason` and names the member."""
    if not value:
        raise RejectedError("missing_value", "the record has no value")
    if len(value) > MAX_REQUEST_BYTES:
        raise RejectedError("too_large", f"the decision has {len(value)} bytes, the most is {MAX_REQUEST_BYTES}")
    try:
        document = loads(value)
    except JsonError as error:
        raise RejectedError("not_json", str(error)) from error
    if not isinstance(document, dict):
        raise RejectedError("invalid", "the decision is not a JSON object")
    try:
        return ResolutionRecord.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        raise RejectedError("invalid", problems_of(error)) from error
