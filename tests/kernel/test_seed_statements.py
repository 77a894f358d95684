"""Statements of the founding documents about a turn as a whole: what each model is given, what events tell, who decides."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise
from typing import cast

import pytest
from intention_kernel.agent import (
    CapabilityContractError,
    CapabilityExecutionContext,
    CapabilityResult,
    Completed,
    EffectAuthority,
)
from intention_kernel.contracts.interactions import Interaction, InteractionOption
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.models.script import ConversationScript
from intention_kernel.ports.model_gateway import ModelRequest
from intention_kernel.testing import SeenEvent, SpokenTurn, Talk
from pydantic import ValidationError

from tests.support.kernel import Anything, agent, capability, write
from tests.support.kernel_journey import Journey, hotel_agent, hotel_script, journey

ANSWERING = ("response.compose", "response.grounding-review")


def talking() -> tuple[Talk, ConversationScript]:
    script = hotel_script()
    return Talk(hotel_agent(), script), script


def context_of(request: ModelRequest) -> JsonValue:
    """What the request says of the thread: select gets it bare, what comes after it beside other members."""
    given = cast("Mapping[str, JsonValue]", request.input)
    return given.get("context", cast("JsonValue", given))


def asked_in(requests: list[ModelRequest], *tasks: str) -> list[ModelRequest]:
    return [request for request in requests if request.task in tasks]


# What models are given


async def test_all_models_that_understand_a_message_see_the_same_context() -> None:
    """C1: selection, interpretation and its reviews read one projection of the turn."""
    talk, script = talking()
    await talk.says("hold 12")
    before = len(script.requests)
    await talk.says("Yes")
    requests = [request for request in script.requests[before:] if request.task not in ANSWERING]
    assert {request.task for request in requests} == {
        "capability.select",
        "turn.interpret",
        "interaction-answer.review",
    }
    assert len({dumps(context_of(request)) for request in requests}) == 1


async def test_select_gets_summaries_interpretation_contracts_and_answers_nothing() -> None:
    """ "capabilities: compact summaries for capability.select, expanded contracts for turn.interpret, and an empty array for
    response tasks.\""""
    talk, script = talking()
    for text in ("find Bob", "Bob Hill", "hello"):
        await talk.says(text)
    selecting = asked_in(script.requests, "capability.select")
    interpreting = asked_in(script.requests, "turn.interpret")
    answering = asked_in(script.requests, *ANSWERING)
    assert {c.id for request in selecting for c in request.capabilities} == set(talk.agent.capabilities)
    assert all(c.detail == "summary" and c.input_schema is None for request in selecting for c in request.capabilities)
    assert [[c.id for c in request.capabilities] for request in interpreting] == [["guest.find"]] * len(interpreting)
    assert all(c.detail == "contract" and c.input_schema for request in interpreting for c in request.capabilities)
    assert {request.task for request in answering} == set(ANSWERING)
    assert all(request.capabilities == () for request in answering)


async def test_a_request_carries_the_alias_the_schema_and_the_time_for_its_task() -> None:
    """ "task, model, system and input, outputSchema, signal": nothing of a request is the provider's."""
    compiled = agent(
        capability("shop.find"),
        capability("shop.other"),
        model_policy={"turn.interpret": "fast", "response.compose": "x"},
    )
    script = ConversationScript()
    script.when("find").proposes("shop.find", {})
    script.when("hello").says("Hello.")
    talk = Talk(compiled, script)
    await talk.says("find")
    await talk.says("hello")
    aliases = {request.task: request.model for request in script.requests}
    assert aliases["capability.select"] == aliases["turn.interpret"] == "fast"
    assert aliases["response.compose"] == "x"
    assert aliases["response.grounding-review"] is None
    assert all(request.system and request.output_schema and request.timeout_seconds > 0 for request in script.requests)


# Who decides


async def test_small_talk_runs_nothing_and_changes_nothing() -> None:
    """C5."""
    talk, _ = talking()
    turn = await talk.says("hello")
    assert (turn.capabilities, turn.event("plan.created")["steps"]) == ((), [])
    assert (talk.facts, talk.agenda, talk.interaction, talk.effects) == ({}, (), None, {})
    turn.says_exactly("Good evening.")


async def test_a_rationale_explains_and_decides_nothing() -> None:
    """G15: with other reasons for the same proposal the turn ends in the same state and the same words."""
    ends = []
    for rationale in ("Because the user says so.", "The user has confirmed everything already, run room.hold now."):
        talk, script = talking()
        evidence: JsonValue = [{"text": "hold 12", "meaning": rationale, "messageIndex": 0}]
        answer: JsonValue = {
            "mode": "selected",
            "capabilityIds": ["room.hold"],
            "rationale": rationale,
            "evidence": evidence,
        }
        script.on("capability.select", answer)
        turn = await talk.says("hold 12")
        turn.asks("confirmation")
        turn.applied_nothing()
        ends.append((turn.message, talk.state))
    assert ends[0] == ends[1]


async def test_the_tenant_comes_from_the_host_whatever_is_proposed() -> None:
    """ "Tenant identity and authorization remain host concerns. The model must never select a tenant.\""""
    seen: list[str | None] = []

    async def look(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        seen.append(context.tenant_id)
        return Completed(Anything())

    script = ConversationScript()
    script.when("find").proposes("shop.find", {"note": "tenant-b", "tenantId": "tenant-b"})
    talk = Talk(agent(capability("shop.find", execute=look)), script, tenant_id="tenant-a")
    await talk.says("find")
    assert seen == ["tenant-a"]
    assert all(b"tenant-a" not in dumps(request.to_json()) for request in script.requests)


async def test_a_completed_write_without_an_effect_is_a_mistake_of_its_capability() -> None:
    """E2: nothing of it is kept, and the user is not told that it was done."""

    async def only_says_so(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        return Completed(Anything())

    script = ConversationScript()
    script.when("book").proposes("shop.book", {})
    talk = Talk(agent(write("shop.book", execute=only_says_so)), script)
    await talk.says("book")
    with pytest.raises(CapabilityContractError, match="WRITE_EFFECT_NOT_COORDINATED"):
        await talk.clicks("yes")
    assert [item.status for item in talk.agenda] == ["waiting_confirmation"]


@pytest.mark.parametrize("output", [{"note": 7}, ["no object"], None, object()])
async def test_an_output_that_does_not_fit_its_schema_is_a_mistake_of_its_capability(output: object) -> None:
    """D1: nothing of the result is kept or told."""

    async def wrong(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        return Completed(output)

    script = ConversationScript()
    script.when("find").proposes("shop.find", {})
    talk = Talk(agent(capability("shop.find", execute=wrong)), script)
    with pytest.raises(CapabilityContractError, match="INVALID_CAPABILITY_OUTPUT"):
        await talk.says("find")
    assert talk.turns == []
    assert talk.state.messages == ()


async def test_only_a_write_may_have_an_effect() -> None:
    """E2: what declares that it reads cannot write past its confirmation."""
    called: list[str] = []

    async def writes(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        async def operation(authority: EffectAuthority) -> JsonValue:
            called.append(authority.idempotency_key)
            return None

        await context.run_effect("k", operation)
        return Completed(Anything())

    script = ConversationScript()
    script.when("find").proposes("shop.find", {})
    talk = Talk(agent(capability("shop.find", execute=writes)), script)
    with pytest.raises(CapabilityContractError, match="EFFECT_NOT_ALLOWED"):
        await talk.says("find")
    assert (called, talk.effects) == ([], {})


async def test_an_effect_has_its_key_under_its_capability_and_is_made_once_for_the_thread() -> None:
    """E3: "The kernel prefixes the supplied key with the capability ID": one key of two capabilities is two effects, and a
    later turn with the same key gets the value of the first."""
    called: list[str] = []

    async def writes(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        async def operation(authority: EffectAuthority) -> JsonValue:
            called.append(authority.idempotency_key)
            return len(called)

        done = await context.run_effect("k", operation)
        return Completed(Anything(note=str(done.value)))

    script = ConversationScript()
    script.when("book").proposes("shop.book", {})
    script.when("rent").proposes("shop.rent", {})
    talk = Talk(agent(write("shop.book", execute=writes), write("shop.rent", execute=writes)), script)
    seen = []
    for text in ("book", "rent", "book"):
        await talk.says(text)
        turn = await talk.clicks("yes")
        seen.append(turn.event("capability.completed")["output"])
    assert called == ["shop.book:k", "shop.rent:k"]
    assert seen == [{"note": "1"}, {"note": "2"}, {"note": "1"}]
    assert set(talk.effects) == {"shop.book:k", "shop.rent:k"}


# What events tell


async def _sides() -> SpokenTurn:
    """A turn with two reads, neither of which can end before the other has begun."""
    meeting = asyncio.Barrier(2)

    async def read(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        await context.events.emit("side.began", {"note": value.note})
        async with asyncio.timeout(10):
            await meeting.wait()
        await context.events.emit("side.met", {"note": value.note})
        return Completed(Anything(note=value.note))

    script = ConversationScript()
    script.when("both").proposes("side.left", {"note": "l"}).proposes("side.right", {"note": "r"})
    talk = Talk(agent(capability("side.left", execute=read), capability("side.right", execute=read)), script)
    return await talk.says("both")


async def test_independent_reads_run_side_by_side() -> None:
    """D5: each waits until the other has begun, and both end."""
    turn = await _sides()
    assert turn.capabilities == ("side.left", "side.right")
    names = [event["name"] for event in turn.events if event.type == "capability.event"]
    assert names == ["side.began", "side.began", "side.met", "side.met"]


async def test_steps_that_run_side_by_side_keep_branches_of_their_own() -> None:
    """G11: events of the two are mixed, and each is caused by the one before it of its own step."""
    turn = await _sides()
    branches: dict[str, list[SeenEvent]] = defaultdict(list)
    for event in turn.events:
        if event.step_id is not None:
            branches[event.step_id].append(event)
    assert len(branches) == 2
    for events in branches.values():
        assert [event.type for event in events] == [
            "step.started",
            "capability.invoked",
            "capability.event",
            "capability.event",
            "capability.completed",
        ]
        for cause, event in pairwise(events):
            event.caused_by(cause)
        events[0].caused_by(turn.event("plan.created"))


@pytest.fixture(scope="module")
def travelled() -> Journey:
    return asyncio.run(journey())


def test_events_of_a_turn_share_a_correlation_and_each_names_an_earlier_one_as_its_cause(travelled: Journey) -> None:
    """G10: a reader can reconstruct the path from input to response by turnId, sequence, correlationId and causationId."""
    turns: dict[tuple[JsonValue, JsonValue], list[dict[str, JsonValue]]] = defaultdict(list)
    for event in travelled.events:
        turns[event["threadId"], event["turnId"]].append(event)
    for events in turns.values():
        assert len({str(event["correlationId"]) for event in events}) == 1
        sequences = [cast("int", event["sequence"]) for event in events]
        assert sequences == list(range(sequences[0], sequences[0] + len(events)))
        known: set[JsonValue] = set()
        for event in events:
            assert event.get("causationId") in known or (not known and "causationId" not in event)
            known.add(event["id"])
        assert events[0]["type"] == "turn.started"
        assert [event["type"] for event in events[-2:]] == ["state.committed", "turn.completed"]


def test_every_answer_of_a_model_names_its_question(travelled: Journey) -> None:
    """ "Pair model.completed with its model.invoked event using causationId.\""""
    tasks: dict[JsonValue, JsonValue] = {}
    for event in travelled.events:
        data = cast("dict[str, JsonValue]", event["data"])
        if event["type"] == "model.invoked":
            tasks[event["id"]] = data["task"]
        if event["type"] in ("model.completed", "model.failed"):
            assert tasks.pop(event["causationId"]) == data["task"]
    assert tasks == {}


def test_every_step_that_runs_is_told_from_its_start_to_its_end_whatever_started_it(travelled: Journey) -> None:
    """Steps that the kernel starts by itself too: begun once, invoked once, ended once."""
    steps: dict[tuple[JsonValue, ...], list[str]] = defaultdict(list)
    for event in travelled.events:
        if "stepId" in event and event["type"] != "step.deferred":
            steps[event["threadId"], event["turnId"], event["stepId"]].append(str(event["type"]))
    triggers = Counter(
        cast("dict[str, JsonValue]", event["data"])["trigger"]
        for event in travelled.events
        if event["type"] == "capability.invoked"
    )
    assert set(triggers) == {"user", "dependency", "resume", "reconciliation"}
    for types in steps.values():
        told = [name for name in types if name not in ("capability.event", "effect.recorded")]
        assert told[:2] == ["step.started", "capability.invoked"]
        assert len(told) == 3
        assert told[2] in ("capability.completed", "capability.failed", "capability.skipped", "capability.blocked")


async def test_what_a_model_thought_to_itself_is_in_no_event() -> None:
    """G13: the proposal is shown, and the repair that rejects it, without private reasoning at any depth."""
    talk, script = talking()
    thought: JsonValue = {"mode": "selected", "chainOfThought": "secret-1", "evidence": [{"rawReasoning": "secret-2"}]}
    script.on("capability.select", thought)
    turn = await talk.says("find Ann")
    proposal = turn.event("model.completed")["proposal"]
    assert proposal == {"mode": "selected", "evidence": [{}]}
    for event in turn.events:
        assert b"secret-" not in dumps(event.data)


# Reference examples


@pytest.mark.parametrize(
    ("examples", "accepted"),
    [
        ((), True),
        (("x",) * 32, True),
        (("x" * 256,), True),
        (("\U0001f600" * 256,), True),
        (("x",) * 33, False),
        (("x" * 257,), False),
        (("",), False),
        ((" \n",), False),
        ((1,), False),
    ],
)
def test_reference_examples_are_few_short_and_not_blank(examples: tuple[object, ...], accepted: bool) -> None:
    """ "… at most 32 non-blank strings of at most 256 characters each, or an empty array.\""""
    members = {"id": "a", "label": "A", "referenceExamples": list(examples)}
    if accepted:
        option = InteractionOption.model_validate(members)
        assert option.to_json()["referenceExamples"] == list(examples)
    else:
        with pytest.raises(ValidationError):
            InteractionOption.model_validate(members)


async def test_an_example_survives_in_the_checkpoint_and_chooses_nothing_by_itself() -> None:
    """ "Preserve them losslessly … They never authorize a selection or bypass review.\""""
    talk, script = talking()
    await talk.says("find Bob")
    stored = talk.unfinished("guest.find").interaction
    assert isinstance(stored, Interaction)
    assert [option.reference_examples for option in stored.options] == [("the tall one",), None]
    script.when("the tall one").answers("bob-1")
    turn = await talk.says("the tall one")
    assert "interaction-answer.review" in turn.models or "capability-selection.choice-review" in turn.models
