"""The committed schemas are the generated ones, and real records fit them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from intention_kernel.contracts.checkpoint import Checkpoint, encode_checkpoint
from intention_kernel.contracts.schemas import all_schemas, schema_text
from intention_kernel.contracts.turn_request import decode_turn_request
from intention_kernel.errors import RejectedError
from intention_kernel.testing.conversation import Conversation
from intention_kernel.testing.memory_harness import MemoryHarness
from intention_kernel.testing.program_world import Provider, charging

from tests.kernel.strategies import checkpoints
from tests.support.kernel_journey import journey

QUESTION = {"id": "which", "kind": "choice", "goal": "Which?"}
OPTION = {"id": "a", "label": "A"}

SCHEMAS = Path(__file__).parents[2] / "schemas"


def fits(name: str, document: object) -> None:
    """Raises jsonschema.ValidationError where the document does not fit the committed schema."""
    schema = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)


def test_committed_schemas_are_what_the_contracts_generate() -> None:
    generated = {f"{name}.json": schema_text(name, schema) for name, schema in all_schemas().items()}
    committed = {path.name: path.read_text("utf-8") for path in SCHEMAS.glob("*.v*.json")}
    assert committed == generated, "run `make schemas` and commit the result"


@pytest.mark.parametrize("name", sorted(all_schemas()))
def test_every_schema_is_a_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads((SCHEMAS / f"{name}.json").read_text("utf-8")))


async def test_real_events_traces_results_and_checkpoints_fit() -> None:
    provider = Provider()
    provider.lose_reply("charge:order-1")
    conversation = Conversation(MemoryHarness(), charging(provider))
    await conversation.send("charge", "t1")
    await conversation.send("hello", "t2")
    events = await conversation.events()
    for event in events:
        fits("kernel-event.v1", event)
        if event["type"] == "turn.completed":
            fits("turn-completed.v1", event["data"])
    for trace in conversation.traces.published:
        fits("trace.v1", trace)
    fits("checkpoint.v1", json.loads(encode_checkpoint(await conversation.checkpoint())))
    assert {event["type"] for event in events} == {"turn.started", "effect.uncertain", "turn.completed"}


async def test_real_events_results_and_checkpoints_of_a_compiled_agent_fit() -> None:
    found = await journey()
    for event in found.events:
        fits("kernel-event.v1", event)
        if event["type"] == "turn.completed":
            fits("turn-completed.v1", event["data"])
    for trace in found.traces:
        fits("trace.v1", trace)
    for checkpoint in found.checkpoints:
        fits("checkpoint.v1", json.loads(encode_checkpoint(checkpoint)))
    kept = [item for checkpoint in found.checkpoints for item in checkpoint.agenda]
    assert {item["status"] for item in kept} == {"waiting_input", "waiting_facts", "waiting_confirmation", "blocked"}
    assert any(checkpoint.facts for checkpoint in found.checkpoints)
    assert any(checkpoint.receipts for checkpoint in found.checkpoints)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(checkpoints())
def test_every_checkpoint_that_the_kernel_can_read_fits(checkpoint: Checkpoint) -> None:
    fits("checkpoint.v1", json.loads(encode_checkpoint(checkpoint)))


@pytest.mark.parametrize(
    "change",
    [
        {"messages": [{"role": "system", "text": "x", "turnId": "t", "at": "2026-01-01T00:00:00Z", "index": 0}]},
        {"messages": [{"role": "user"}]},
        {"facts": {"a@1": {"type": "a", "value": 1}}},
        {"agenda": [{"id": "x", "status": "ready"}]},
        {"interaction": {"id": "x", "kind": "riddle", "goal": "?"}},
        {"interaction": QUESTION | {"options": [OPTION | {"referenceExamples": ["x"] * 33}]}},
        {"interaction": QUESTION | {"options": [OPTION | {"referenceExamples": ["x" * 257]}]}},
        {"interaction": QUESTION | {"options": [OPTION | {"referenceExamples": [" "]}]}},
        {"receipts": [{"receiptId": "x"}]},
    ],
)
def test_what_is_no_memory_of_a_thread_does_not_fit(change: dict[str, object]) -> None:
    memory = json.loads(encode_checkpoint(Checkpoint(agent_id="a", fingerprint="f")))
    allowed: dict[str, object] = {"interaction": QUESTION | {"options": [OPTION | {"referenceExamples": []}]}}
    fits("checkpoint.v1", memory | allowed)
    with pytest.raises(jsonschema.ValidationError):
        fits("checkpoint.v1", memory | change)


async def test_a_turn_that_is_given_up_fits() -> None:
    conversation = Conversation(MemoryHarness(), charging(Provider()))
    await conversation.send("hello", "t1", held_too_long="another build")
    (event,) = await conversation.events()
    fits("turn-failed.v1", event["data"])


@pytest.mark.parametrize(
    "change",
    [
        {"threadId": ""},
        {"schemaVersion": 2},
        {"surprise": 1},
        {"deadlineSeconds": 0},
        {"input": {"text": 7}},
        {"input": {"text": "x", "surprise": 1}},
        {"hostContext": []},
        {"trigger": {"kind": "nobody"}},
    ],
)
def test_what_the_request_schema_refuses_the_decoder_refuses_too(change: dict[str, object]) -> None:
    request = {"schemaVersion": 1, "threadId": "t", "turnId": "u", "agentId": "a", "input": {"text": "x"}}
    fits("turn-request.v1", request)
    decode_turn_request(b"t", json.dumps(request).encode())
    with pytest.raises(jsonschema.ValidationError):
        fits("turn-request.v1", {**request, **change})
    with pytest.raises(RejectedError):
        decode_turn_request(b"t", json.dumps({**request, **change}).encode())
