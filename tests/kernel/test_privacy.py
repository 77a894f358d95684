"""What is private in a checkpoint reaches no model; what a turn does not change is stored byte for byte (issue: privacy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from intention_kernel.contracts.checkpoint import Checkpoint, decode_checkpoint, encode_checkpoint
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.runtime.stages.context.context import build_context
from intention_kernel.runtime.stages.selecting.select import select
from intention_kernel.runtime.stages.snapshot import ContextSnapshot
from intention_kernel.runtime.stages.state import TurnView, state_of, with_state

from tests.kernel.strategies import CANARY, PRIVATE, PROTECTED, checkpoints, public_text
from tests.support.asking_models import Gateway, turn_models
from tests.support.kernel import AT, agent, capability, new_ids, write

HOTEL = agent(
    capability("hotel.find"), write("hotel.book"), write("pay.charge"), model_policy={"turn.interpret": "gpt"}
)


def snapshot_of(checkpoint: Checkpoint, text: str, summary: str | None) -> ContextSnapshot:
    view = TurnView(
        HOTEL, "thread", "turn", PRIVATE, text, None, summary, {"tenant": PRIVATE}, AT, state_of(checkpoint), new_ids()
    )
    snapshot = build_context(view)
    assert isinstance(snapshot, ContextSnapshot)
    return snapshot


def assert_nothing_private(value: JsonValue) -> None:
    """Neither a private member, which no redaction names, nor a string that one names. Names of members stay."""
    sent = dumps(value)
    assert b"PRIVATE" not in sent
    assert CANARY.encode() not in sent


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(checkpoints(), public_text, st.none() | public_text)
def test_no_private_metadata_and_no_secret_reaches_the_projection_or_the_capabilities(
    checkpoint: Checkpoint, text: str, summary: str | None
) -> None:
    snapshot = snapshot_of(checkpoint, text + PROTECTED, summary)
    assert_nothing_private(dict(snapshot.projection))
    assert_nothing_private([c.to_json() for c in (*snapshot.capabilities, *snapshot.summaries())])


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(checkpoints(), public_text)
async def test_no_private_metadata_and_no_secret_reaches_a_model_request_or_a_model_event(
    checkpoint: Checkpoint, text: str
) -> None:
    snapshot = snapshot_of(checkpoint, text, None)
    evidence: JsonValue = [{"text": "x", "meaning": "y", "messageIndex": 0}]
    proposal: JsonValue = {
        "mode": "selected_with_control",
        "capabilityIds": ["hotel.book"],
        "rationale": "r",
        "evidence": evidence,
    }
    verdict: JsonValue = {"verdict": "supported", "rationale": "r"}
    menu: JsonValue = {"meaning": "operation_request", "rationale": "r", "operationCapabilityIds": ["hotel.book"]}
    conversational: JsonValue = {"mode": "conversational", "capabilityIds": [], "rationale": "r", "evidence": evidence}
    gateway = Gateway(
        {
            "capability.select": [proposal],
            "capability.select.repair": [conversational],
            "capability-selection.choice-review": [menu],
            "capability-selection.interaction-review": [verdict],
            "lifecycle-selection.review": [verdict],
        }
    )
    models, sink = turn_models(gateway, snapshot)
    await select(snapshot, models)
    for request in gateway.requests:
        assert_nothing_private(cast("JsonValue", request.to_json()))
    for event in sink.events:
        assert_nothing_private(event.data)


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(checkpoints())
def test_a_memory_that_no_turn_changed_is_stored_byte_for_byte(checkpoint: Checkpoint) -> None:
    stored = encode_checkpoint(checkpoint)
    loaded = decode_checkpoint(stored)
    assert encode_checkpoint(with_state(loaded, state_of(loaded))) == stored


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(checkpoints())
def test_a_record_that_a_turn_rewrites_keeps_every_member_that_this_build_does_not_know(checkpoint: Checkpoint) -> None:
    for item, before in zip(state_of(checkpoint).agenda, checkpoint.agenda, strict=True):
        after = item.model_copy(update={"status": "blocked"}).to_json()
        assert _comparable(after) == _comparable({**before, "status": "blocked"})


def _comparable(document: Mapping[str, JsonValue]) -> bytes:
    def sorted_members(value: JsonValue) -> JsonValue:
        if isinstance(value, dict):
            return {name: sorted_members(value[name]) for name in sorted(value)}
        if isinstance(value, list):
            return [sorted_members(item) for item in value]
        return value

    return dumps(sorted_members(dict(document))).replace(b'"expiresSeconds":60.0', b'"expiresSeconds":60')
