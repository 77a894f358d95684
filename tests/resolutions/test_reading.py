"""What is a decision, and what each record that is none is refused with (interface 2, "bad input")."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.contracts.resolution import MAX_VERSION
from intention_kernel.contracts.schemas import all_schemas
from intention_kernel.contracts.turn_request import MAX_REQUEST_BYTES
from intention_kernel.reconciliation.queue import Decision
from intention_kernel.reconciliation.resolutions import NotTaken, read_decision

from tests.resolutions.place import VALUE, document, record

RECEIPT = "a" * 32
SCHEMA = jsonschema.Draft202012Validator(all_schemas()["resolution.v1"])

_NAMES = st.sampled_from([*document(RECEIPT), "surprise"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def test_a_record_is_the_decision_that_it_says() -> None:
    assert read_decision(record(RECEIPT)) == Decision(
        receipt_id=RECEIPT,
        resolution="applied",
        reason="seen in the provider's list",
        actor="back-office",
        value=VALUE,
        reference="REF-1",
        expected_version=2,
        decision_id="decision-aaaaaaaa",
    )


def test_value_and_reference_may_be_left_out() -> None:
    found = read_decision(record(RECEIPT, resolution="not_applied", value=..., reference=...))
    assert isinstance(found, Decision)
    assert (found.resolution, found.value, found.reference) == ("not_applied", None, None)


@pytest.mark.parametrize(
    ("value", "reason", "detail"),
    [
        (None, "missing_value", "no value"),
        (b"", "missing_value", "no value"),
        (b"\xff\xfe", "not_json", "UTF-8"),
        (b"{", "not_json", ""),
        (b'{"actor":"a","actor":"b"}', "not_json", "actor"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "not_json", "nested"),
        (b"[1]", "invalid", "not a JSON object"),
        (b" " * (MAX_REQUEST_BYTES + 1), "too_large", str(MAX_REQUEST_BYTES)),
        (record(RECEIPT, surprise=1), "invalid", "surprise: unknown member"),
        (record(RECEIPT, decision_id="x"), "invalid", "decision_id: unknown member"),
        (record(RECEIPT, schemaVersion=2), "invalid", "schemaVersion"),
        (record(RECEIPT, schemaVersion=True), "invalid", "schemaVersion"),
        (record(RECEIPT, decisionId=""), "invalid", "decisionId"),
        (record(RECEIPT, decisionId="x" * 201), "invalid", "decisionId"),
        (record(RECEIPT, decisionId="a\0b"), "invalid", "decisionId"),
        (record("A" * 32), "invalid", "receiptId"),
        (record("a" * 32 + "\n"), "invalid", "receiptId"),
        (record(RECEIPT, expectedVersion=0), "invalid", "expectedVersion"),
        (record(RECEIPT, expectedVersion=MAX_VERSION + 1), "invalid", "expectedVersion"),
        (record(RECEIPT, expectedVersion="2"), "invalid", "expectedVersion"),
        (record(RECEIPT, expectedVersion=...), "invalid", "expectedVersion: is missing"),
        (record(RECEIPT, resolution="maybe"), "invalid", "resolution"),
        (record(RECEIPT, reason=7), "invalid", "reason"),
        (record(RECEIPT, actor="a\nb"), "invalid", "actor"),
    ],
)
def test_what_is_no_decision_is_refused_with_its_member(value: bytes | None, reason: str, detail: str) -> None:
    found = read_decision(value)
    assert isinstance(found, NotTaken)
    assert found.reason == reason
    assert detail in found.detail


@given(st.binary() | st.none() | _JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_decision_or_a_reason(value: bytes | None) -> None:
    assert isinstance(read_decision(value), Decision | NotTaken)


@given(st.dictionaries(_NAMES, _JSON, max_size=3))
def test_the_reader_takes_nothing_that_the_schema_refuses(changes: dict[str, Any]) -> None:
    changed = document(RECEIPT) | changes
    if isinstance(read_decision(json.dumps(changed).encode()), Decision):
        SCHEMA.validate(changed)
