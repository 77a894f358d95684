"""What is a turn request, and what each record that is none is refused with (interface 2, "bad input")."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.contracts.identifiers import continuation_turn_id, identifier_problem
from intention_kernel.contracts.turn_request import MAX_REQUEST_BYTES, decode_turn_request, encode_turn_request
from intention_kernel.errors import RejectedError

RECEIPT = "a" * 32


def request(**changes: Any) -> dict[str, Any]:
    plain = {"schemaVersion": 1, "threadId": "t", "turnId": "u", "agentId": "a", "input": {"text": "hi"}}
    return {name: value for name, value in {**plain, **changes}.items() if value is not ...}


def continuation(**changes: Any) -> dict[str, Any]:
    trigger = {"kind": "reconciliation", "receiptId": RECEIPT, "settlement": 2}
    turn_id = continuation_turn_id(RECEIPT, 2, 1)
    return request(**{"turnId": turn_id, "input": ..., "trigger": trigger, **changes})


def other_settlement() -> dict[str, Any]:
    trigger = {"kind": "reconciliation", "receiptId": RECEIPT, "settlement": 3}
    return continuation(turnId=continuation_turn_id(RECEIPT, 3, 1), trigger=trigger)


@pytest.mark.parametrize(
    ("key", "value", "reason", "detail"),
    [
        (b"t", None, "missing_value", "no value"),
        (b"t", b"", "missing_value", "no value"),
        (b"t", b"\xff\xfe", "not_json", "UTF-8"),
        (b"t", b"{", "not_json", ""),
        (b"t", b'{"a":1,"a":2}', "not_json", "a"),
        (b"t", b"[]", "invalid", "not a JSON object"),
        (b"t", b" " * (MAX_REQUEST_BYTES + 1), "too_large", str(MAX_REQUEST_BYTES)),
        (None, request(), "key_mismatch", "threadId"),
        (b"other", request(), "key_mismatch", "threadId"),
        (b"t", request(schemaVersion=2), "invalid", "schemaVersion"),
        (b"t", request(surprise=1), "invalid", "surprise: unknown member"),
        (b"t", request(input={"text": "x", "tone": 1}), "invalid", "input.tone: unknown member"),
        (b"t", request(host_context={}), "invalid", "host_context: unknown member"),
        (b"t", request(input={"text": "x", "interaction_selection": 1}), "invalid", "input.interaction_selection"),
        (b"t", request(input=...), "invalid", "input: is missing"),
        (b"t", request(turnId=...), "invalid", "turnId: is missing"),
        (b"t", request(turnId="u" * 201), "invalid", "turnId"),
        (b"t", request(turnId="😀" * 150), "invalid", "bytes of UTF-8"),
        (b"t", request(turnId="a\0b"), "invalid", "control character"),
        (b"t", request(turnId="\ud800"), "invalid", "turnId"),
        (b"t", request(deadlineSeconds=-1), "invalid", "deadlineSeconds"),
        (b"t", request(deadlineSeconds=True), "invalid", "deadlineSeconds"),
        (b"t", request(turnId="reconciliation:x"), "reserved_turn_id", "reserved"),
        (b"t", continuation(turnId="u"), "forged_continuation", "derived"),
        (b"t", continuation(turnId=continuation_turn_id(RECEIPT, 3, 1)), "forged_continuation", "derived"),
        (b"t", continuation(turnId=continuation_turn_id(RECEIPT, 2, 1) + "x"), "forged_continuation", "derived"),
        (b"t", continuation(input={"text": "x"}), "forged_continuation", "no input"),
    ],
)
def test_what_is_no_request_is_refused_with_a_stable_reason(
    key: bytes | None, value: bytes | dict[str, Any] | None, reason: str, detail: str
) -> None:
    raw = json.dumps(value).encode() if isinstance(value, dict) else value
    with pytest.raises(RejectedError) as refused:
        decode_turn_request(key, raw)
    assert refused.value.reason == reason
    assert detail in refused.value.detail


def test_every_problem_of_a_request_is_named_at_once() -> None:
    with pytest.raises(RejectedError) as refused:
        decode_turn_request(b"t", json.dumps({"schemaVersion": 1, "surprise": 1, "input": {}}).encode())
    for name in ("threadId", "turnId", "agentId", "input.text", "surprise"):
        assert name in refused.value.detail


def test_a_continuation_of_any_issue_is_a_request() -> None:
    for issue in (1, 2, 40):
        value = json.dumps(continuation(turnId=continuation_turn_id(RECEIPT, 2, issue))).encode()
        assert decode_turn_request(b"t", value).input is None


def test_the_same_content_is_agent_tenant_input_and_trigger_and_nothing_else() -> None:
    """Interface 2: hostContext may hold a fresh token; deadline, correlation and member order say nothing."""

    def digest_of(document: dict[str, Any]) -> bytes:
        return decode_turn_request(b"t", json.dumps(document).encode()).content_digest()

    plain = digest_of(request())
    same = request(hostContext={"token": "x"}, deadlineSeconds=3, correlationId="c", trigger={"kind": "user"})
    assert digest_of(dict(reversed(same.items()))) == plain
    for change in ({"agentId": "b"}, {"tenantId": "shop"}, {"input": {"text": "ho"}}):
        assert digest_of(request(**change)) != plain
    next_issue = continuation(turnId=continuation_turn_id(RECEIPT, 2, 2))
    assert digest_of(continuation()) == digest_of(next_issue) != digest_of(other_settlement())


def test_a_requests_digest_is_that_of_the_content_it_arrived_with() -> None:
    """R7: begin, commit and set-aside name one content, whatever the program does to its input between them."""
    value = json.dumps(request(input={"text": "", "interactionSelection": {"chosen": ["a"]}})).encode()
    decoded, twin = decode_turn_request(b"t", value), decode_turn_request(b"t", value)
    arrived = decoded.content_digest()
    assert decoded == twin
    assert encode_turn_request(decoded) == encode_turn_request(twin)
    assert decoded.input is not None
    decoded.input.interaction_selection["chosen"].append("b")  # type: ignore[index, call-overload, union-attr]
    assert decoded.content_digest() == arrived == twin.content_digest()


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text(), max_size=5), st.text())
def test_a_request_comes_back_as_it_was_sent(host_context: dict[str, Any], text: str) -> None:
    value = json.dumps(request(hostContext=host_context, input={"text": text})).encode()
    decoded = decode_turn_request(b"t", value)
    assert decode_turn_request(b"t", encode_turn_request(decoded)) == decoded
    assert dict(decoded.host_context) == host_context
    assert decoded.input is not None
    assert decoded.input.text == text


@given(st.text(max_size=220))
def test_an_identifier_is_what_interface_2_says(value: str) -> None:
    control = any(ord(character) < 32 or 127 <= ord(character) < 160 for character in value)
    fits = 1 <= len(value) <= 200 and len(value.encode()) <= 512 and not control
    assert (identifier_problem(value) is None) == fits
