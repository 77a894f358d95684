"""The model boundary: what is sent, within which time, what a retry asks again, and which events tell of it (contract 2.4, 4)."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import cast

import pytest
from intention_kernel.agent.capability import CapabilityGuidance
from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.agent.prompts.catalogue import PROMPTS
from intention_kernel.agent.prompts.selection import SELECT
from intention_kernel.clock import ManualClock, SystemClock
from intention_kernel.contracts.digest import digest
from intention_kernel.contracts.event import KernelEvent
from intention_kernel.contracts.facts import FactRecord, Producer
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import Text, WireModel
from intention_kernel.errors import ModelGatewayError
from intention_kernel.ports.model_gateway import ModelRequest, ModelResult
from intention_kernel.runtime.events import MAX_AUDIT_BYTES
from intention_kernel.runtime.models import TurnModels
from intention_kernel.runtime.stages.asking import Answered, Ask, Unusable
from intention_kernel.runtime.stages.context.context import build_context
from intention_kernel.runtime.stages.redactions import REDACTED, Redactions
from intention_kernel.runtime.stages.selecting.select import select
from intention_kernel.runtime.stages.snapshot import ContextSnapshot

from tests.support.asking_models import Gateway, Journal, Sink, new_chain, turn_models
from tests.support.kernel import AT, agent, capability, view, write

Json = dict[str, JsonValue]
TASK = "capability.select"
HOTEL = agent(capability("hotel.find", guidance=CapabilityGuidance(examples=("a room for Anna",))), write("hotel.book"))
GUEST = FactRecord(
    type="guest",
    value="Anna Smith",
    produced_by=Producer(capability_id="hotel.find", capability_version=1, turn_id="t", step_id="s"),
    model_redactions=("Anna",),
)


class Reply(WireModel):
    """An answer of a test."""

    words: Text


def snapshot(compiled: CompiledAgent = HOTEL, text: str = "a room") -> ContextSnapshot:
    built = build_context(view(compiled, text, facts={"guest@1": GUEST}))
    assert isinstance(built, ContextSnapshot)
    return built


def question(built: ContextSnapshot, **members: object) -> Ask[Reply]:
    ask = Ask(
        task="capability.select",
        prompt_id=SELECT.id,
        input=built.projection,
        answer=Reply,
        model_keys=("capability.select", "turn.interpret"),
        capabilities=built.capabilities,
    )
    return replace(ask, **members)  # type: ignore[arg-type]


def told(sink: Sink) -> list[str]:
    return [event.type for event in sink.events]


def data(event: KernelEvent) -> Json:
    return cast("Json", event.data)


async def test_a_request_has_the_prompt_the_schema_and_the_time_that_is_left() -> None:
    built, gateway = snapshot(), Gateway({TASK: [{"words": "yes"}]})
    models, _ = turn_models(gateway, built)
    assert await models.ask(question(built)) == Answered(Reply(words="yes"))
    request = gateway.requests[0]
    assert (request.task, request.prompt_id, request.system, request.model) == (TASK, SELECT.id, SELECT.text, None)
    assert request.output_schema["required"] == ["words"]
    assert request.timeout_seconds == 59.5
    assert request.input == dict(built.projection)


@pytest.mark.parametrize(
    ("policy", "alias"),
    [
        ({}, None),
        ({"turn.interpret": "small"}, "small"),
        ({"turn.interpret": "small", "capability.select": "fast"}, "fast"),
        ({"response.compose": "big"}, None),
    ],
)
async def test_the_first_key_that_the_model_policy_has_gives_the_alias(
    policy: dict[str, str], alias: str | None
) -> None:
    built = snapshot(agent(capability("hotel.find"), model_policy=policy))
    gateway = Gateway({TASK: [{"words": "yes"}]})
    models, sink = turn_models(gateway, built)
    await models.ask(question(built))
    assert gateway.requests[0].model == alias
    assert data(sink.events[0])["model"] == alias


async def test_an_agent_may_give_a_prompt_other_words() -> None:
    built = snapshot(agent(capability("hotel.find"), prompts={SELECT.id: "My own words."}))
    gateway = Gateway({TASK: [{"words": "yes"}]})
    models, sink = turn_models(gateway, built)
    await models.ask(question(built))
    assert gateway.requests[0].system == "My own words."
    audit = cast("Json", data(sink.events[0])["audit"])
    assert audit["instructionDigest"] != cast("Json", audit["prompt"])["templateHash"]


async def test_every_text_of_a_request_is_redacted_with_what_the_turn_learnt_since() -> None:
    built = snapshot()
    gateway = Gateway({TASK: [{"words": "yes"}] * 2})
    models, sink = turn_models(gateway, built)
    asked = question(built, input={"context": dict(built.projection), "said": "Anna has room 4711"})
    await models.ask(asked)
    await models.with_redactions(built.redactions.plus(["4711", "a room"])).ask(asked)
    first, second = (cast("Json", request.input)["said"] for request in gateway.requests)
    assert first == f"{REDACTED} has room 4711"
    assert second == f"{REDACTED} has room {REDACTED}"
    assert [request.capabilities[1].guidance for request in gateway.requests] == [
        {"whenToUse": [], "whenNotToUse": [], "examples": [f"a room for {REDACTED}"]},
        {"whenToUse": [], "whenNotToUse": [], "examples": [f"{REDACTED} for {REDACTED}"]},
    ]
    context = cast("Json", cast("Json", data(sink.events[2])["audit"])["context"])
    assert cast("Json", context["currentMessage"])["content"] == REDACTED


async def test_invoked_and_completed_are_a_pair_and_the_next_event_follows_the_pair() -> None:
    built, clock = snapshot(), ManualClock(AT)
    gateway = Gateway({TASK: [{"words": "yes"}]}, clock=clock)
    sink = Sink()
    chain = new_chain(sink, clock)
    models, _ = turn_models(gateway, built, clock=clock, chain=chain)
    before = await chain.emit("turn.started", {})
    await models.ask(question(built))
    after = await chain.emit("capabilities.selected", {})
    _, invoked, completed, selected = sink.events
    assert (invoked.type, invoked.category, invoked.causation_id) == ("model.invoked", "trace", before)
    assert (completed.type, completed.category, completed.causation_id) == ("model.completed", "trace", invoked.id)
    assert (selected.id, selected.causation_id) == (after, completed.id)
    assert data(completed) == {
        "task": TASK,
        "provider": "scripted",
        "model": "any",
        "durationMs": 250,
        "usage": {"inputTokens": 12, "outputTokens": 3},
        "proposal": {"words": "yes"},
    }


async def test_an_invocation_shows_messages_facts_with_provenance_what_is_offered_and_what_its_stage_adds() -> None:
    built = snapshot()
    models, sink = turn_models(Gateway({TASK: [{"words": "yes"}]}), built)
    await models.ask(question(built, audit={"validationIssues": ["wrong for Anna"]}))
    invoked = data(sink.events[0])
    assert (invoked["task"], invoked["capabilityCount"]) == (TASK, 2)
    audit = cast("Json", invoked["audit"])
    context = cast("Json", audit["context"])
    assert cast("Json", context["currentMessage"])["content"] == "a room"
    assert context["facts"] == [
        {
            "type": "guest",
            "value": f"{REDACTED} Smith",
            "producedBy": {"capabilityId": "hotel.find", "capabilityVersion": 1, "turnId": "t", "stepId": "s"},
        }
    ]
    assert set(context) == {
        "currentMessage",
        "interactionSelection",
        "recentMessages",
        "totalMessages",
        "facts",
        "interaction",
        "agenda",
        "selectedModelGuidancePolicies",
        "omissions",
    }
    assert audit["prompt"] == {"id": SELECT.id, "contractVersion": 1, "templateHash": audit["instructionDigest"]}
    assert [cast("Json", c)["id"] for c in cast("list[JsonValue]", audit["capabilities"])] == [
        "hotel.book",
        "hotel.find",
    ]
    assert audit["validationIssues"] == [f"wrong for {REDACTED}"]


async def test_an_audit_beyond_its_bound_is_cut_to_a_digest_and_fails_no_turn() -> None:
    long = "x" * (MAX_AUDIT_BYTES + 1)
    built = snapshot(text=long)
    models, sink = turn_models(Gateway({TASK: [{"words": long}]}), built)
    assert isinstance(await models.ask(question(built)), Answered)
    invoked, completed = sink.events
    audit = cast("Json", data(invoked)["audit"])
    assert set(audit) == {"digest", "bytes"}
    assert cast("int", audit["bytes"]) > MAX_AUDIT_BYTES
    assert data(completed)["proposal"] == {"digest": digest({"words": long}).hex(), "bytes": len(long) + 12}
    assert data(invoked)["task"] == TASK


async def test_an_answer_of_another_form_is_unusable_and_says_where() -> None:
    built = snapshot()
    models, sink = turn_models(Gateway({TASK: [{"words": 1, "more": True}]}), built)
    unusable = await models.ask(question(built))
    assert isinstance(unusable, Unusable)
    assert unusable.raw == {"words": 1, "more": True}
    assert sorted(issue.split(":")[0] for issue in unusable.issues) == ["/more", "/words"]
    assert told(sink) == ["model.invoked", "model.completed"]


@pytest.mark.parametrize("code", ["MODEL_EMPTY_RESPONSE", "MODEL_JSON_INVALID"])
async def test_an_answer_that_is_no_json_is_unusable_and_so_is_it_on_a_retry(code: str) -> None:
    built, journal = snapshot(), Journal()
    gateway = Gateway({TASK: [ModelGatewayError(code, "no text")]})
    for _ in range(2):
        models, sink = turn_models(gateway, built, journal=journal)
        unusable = await models.ask(question(built))
        assert isinstance(unusable, Unusable)
        assert unusable.raw is None
        assert told(sink) == ["model.invoked", "model.failed"]
        failed = sink.events[1]
        assert (failed.category, failed.causation_id) == ("audit", sink.events[0].id)
        assert data(failed) == {"task": TASK, "code": code}
    assert len(gateway.requests) == 1


@pytest.mark.parametrize("value", [float("nan"), ("a", "tuple"), {1: "a key"}, {"a", "set"}])
async def test_a_value_that_is_not_json_is_unusable(value: object) -> None:
    built = snapshot()
    models, _ = turn_models(Gateway({TASK: [cast("JsonValue", value)]}), built)
    assert isinstance(await models.ask(question(built)), Unusable)


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (ModelGatewayError("MODEL_PROVIDER_FAILURE", "503", retryable=True), "MODEL_PROVIDER_FAILURE", True),
        (RuntimeError("key sk-12345 refused"), "UNEXPECTED_ERROR", False),
        (asyncio.CancelledError(), "UNEXPECTED_ERROR", False),
    ],
)
async def test_a_model_that_could_not_be_asked_fails_the_attempt_and_tells_no_secret(
    error: BaseException, code: str, *, retryable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    built, journal = snapshot(), Journal()
    models, sink = turn_models(Gateway({TASK: [error]}), built, journal=journal)
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelGatewayError) as raised:
        await models.ask(question(built))
    assert (raised.value.code, raised.value.retryable) == (code, retryable)
    assert "sk-12345" not in f"{raised.value} {raised.value.__cause__} {raised.value.__context__} {caplog.text}"
    assert data(sink.events[1]) == {"task": TASK, "code": code}
    assert journal.entries == {}


async def test_a_retry_replays_the_answers_makes_the_same_events_and_asks_nobody() -> None:
    """R16, R17: what was recorded is not asked again, and a retry tells the same."""
    built, journal, clock = snapshot(), Journal(), ManualClock(AT)
    evidence: JsonValue = [{"text": "x", "meaning": "y", "messageIndex": 0}]
    bad: Json = {"mode": "selected", "capabilityIds": [], "rationale": "r", "evidence": evidence}
    good: Json = {**bad, "capabilityIds": ["hotel.book"]}
    gateway = Gateway({TASK: [bad], "capability.select.repair": [good]}, clock=clock)
    first, first_sink = turn_models(gateway, built, clock=clock, journal=journal)
    selection = await select(built, first)
    second, second_sink = turn_models(gateway, built, clock=clock, journal=journal)
    assert await select(built, second) == selection
    assert [(e.id, e.type, e.causation_id, e.data) for e in second_sink.events] == [
        (e.id, e.type, e.causation_id, e.data) for e in first_sink.events
    ]
    assert [request.task for request in gateway.requests] == [TASK, "capability.select.repair"]


@dataclass(slots=True)
class Slow:
    """A gateway that waits for ever; a stubborn one goes on when it is cancelled, until the test ends it."""

    stubborn: bool = False
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[ModelRequest] = field(default_factory=list)

    async def invoke(self, request: ModelRequest) -> ModelResult:
        self.requests.append(request)
        self.asked.set()
        try:
            await self.over.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            if not self.stubborn:
                raise
            await self.over.wait()
        return ModelResult({"words": "late"}, "slow", "slow")


def slow_models(gateway: Slow, built: ContextSnapshot, seconds: float) -> TurnModels:
    return turn_models(gateway, built, clock=SystemClock(), seconds=seconds)[0]


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_model_that_takes_too_long_is_given_up_before_the_turn_is_over(*, stubborn: bool) -> None:
    gateway, built = Slow(stubborn), snapshot()
    models = slow_models(gateway, built, seconds=0.6)
    async with asyncio.timeout(10):
        with pytest.raises(ModelGatewayError) as raised:
            await models.ask(question(built))
    assert (raised.value.code, raised.value.retryable) == ("MODEL_TIMEOUT", True)
    assert gateway.cancelled.is_set()
    gateway.over.set()


async def test_a_model_is_not_asked_when_no_time_is_left() -> None:
    gateway, built = Slow(), snapshot()
    with pytest.raises(ModelGatewayError, match="MODEL_TIMEOUT"):
        await slow_models(gateway, built, seconds=0.2).ask(question(built))
    assert gateway.requests == []


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_cancelled_turn_cancels_its_model_and_does_not_wait_for_a_stubborn_one(*, stubborn: bool) -> None:
    gateway, built = Slow(stubborn), snapshot()
    asking = asyncio.ensure_future(slow_models(gateway, built, seconds=60).ask(question(built)))
    async with asyncio.timeout(10):
        await gateway.asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert gateway.cancelled.is_set()
    gateway.over.set()


def test_every_prompt_has_its_own_id_and_is_complete() -> None:
    for prompt_id, prompt in PROMPTS.items():
        assert prompt.id == prompt_id
        assert prompt.version >= 1
        assert "{" not in prompt.text.replace("{}", ""), "prompts have no variables"


def test_redactions_are_those_of_the_snapshot_until_there_are_more() -> None:
    assert snapshot().redactions == Redactions(("Anna",))
