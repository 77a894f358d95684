"""Gateways without a model: rules, recordings, and dispatch by alias."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ConfigurationError, ModelGatewayError
from intention_kernel.models.closing import close_gateway
from intention_kernel.models.dispatch import DispatchingGateway
from intention_kernel.models.recording import RecordingGateway, ReplayingGateway, request_digest
from intention_kernel.models.scripted import Rule, ScriptedGateway
from intention_kernel.ports.model_gateway import ModelRequest, ModelResult, ModelUsage

from tests.models.requests import CANARY, a_request


async def test_the_first_rule_that_fits_answers() -> None:
    gateway = ScriptedGateway(
        Rule({"by": "prompt"}, prompt_id="other"),
        Rule({"by": "capability"}, capability="order.refund"),
        Rule({"by": "predicate"}, when=lambda request: request.model == "fast"),
        Rule({"by": "task"}, task="capability.select"),
        Rule({"by": "never"}),
    )
    assert (await gateway.invoke(a_request())).value == {"by": "task"}
    assert (await gateway.invoke(a_request(model="fast"))).value == {"by": "predicate"}
    assert (await gateway.invoke(a_request(prompt_id="other"))).value == {"by": "prompt"}
    assert (await gateway.invoke(a_request(task="turn.interpret"))).value == {"by": "never"}
    assert gateway.tasks == ["capability.select"] * 3 + ["turn.interpret"]


async def test_an_answer_may_be_made_of_the_request_now_or_later() -> None:
    async def later(request: ModelRequest) -> JsonValue:
        await asyncio.sleep(0)
        return request.prompt_id

    gateway = ScriptedGateway()
    gateway.on("turn.interpret", later)
    gateway.on("capability.select", lambda request: len(request.capabilities))
    assert (await gateway.invoke(a_request())).value == 1
    assert (await gateway.invoke(a_request(task="turn.interpret"))).value == "kernel.capability.select"


async def test_a_request_that_no_rule_fits_says_which_task_is_missing() -> None:
    with pytest.raises(ModelGatewayError, match=r"MODEL_SCRIPT_MISSING: .*task capability\.select") as raised:
        await ScriptedGateway().invoke(a_request())
    assert not raised.value.retryable


async def test_a_scripted_error_is_raised_each_time_anew() -> None:
    scripted = ModelGatewayError("MODEL_UNAVAILABLE", "away", retryable=True)
    gateway = ScriptedGateway(Rule(scripted))
    raised = []
    for _ in range(2):
        with pytest.raises(ModelGatewayError) as one:
            await gateway.invoke(a_request())
        raised.append(one.value)
    assert raised[0] is not raised[1]
    assert [(e.code, e.detail, e.retryable) for e in raised] == [("MODEL_UNAVAILABLE", "away", True)] * 2


async def test_a_recording_answers_the_same_requests_without_asking_anybody(tmp_path: Path) -> None:
    file = tmp_path / "new folder" / "answers.jsonl"
    inner = ScriptedGateway(Rule(lambda request: {"task": request.task}))
    recording = RecordingGateway(inner, file)
    recorded = [await recording.invoke(a_request(task=task)) for task in ("turn.interpret", "response.compose")]
    replaying = ReplayingGateway(file)
    replayed = [await replaying.invoke(a_request(task=task)) for task in ("turn.interpret", "response.compose")]
    assert replayed == recorded
    assert len(inner.requests) == 2


async def test_the_time_that_is_left_does_not_make_another_request(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    await RecordingGateway(ScriptedGateway(Rule(1)), file).invoke(a_request(timeout_seconds=30))
    assert (await ReplayingGateway(file).invoke(a_request(timeout_seconds=1))).value == 1


async def test_a_request_that_was_not_recorded_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    await RecordingGateway(ScriptedGateway(Rule(1)), file).invoke(a_request())
    with pytest.raises(ModelGatewayError, match=r"MODEL_RECORDING_MISSING: answers\.jsonl .* task turn\.interpret"):
        await ReplayingGateway(file).invoke(a_request(task="turn.interpret"))


async def test_of_two_recorded_answers_the_first_counts_and_errors_are_not_recorded(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    answers: list[JsonValue] = ["first", "second"]
    recording = RecordingGateway(ScriptedGateway(Rule(lambda _: answers.pop(0))), file)
    for _ in range(2):
        await recording.invoke(a_request())
    failing = RecordingGateway(ScriptedGateway(Rule(ModelGatewayError("MODEL_REFUSED", "no"))), file)
    with pytest.raises(ModelGatewayError):
        await failing.invoke(a_request(task="turn.interpret"))
    assert file.read_bytes().count(b"\n") == 2
    assert (await ReplayingGateway(file).invoke(a_request())).value == "first"


async def test_a_recording_holds_no_request(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    await RecordingGateway(ScriptedGateway(Rule(1)), file).invoke(a_request())
    assert CANARY not in file.read_text()


def test_a_file_that_is_no_recording_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    with pytest.raises(ConfigurationError, match="cannot be read"):
        ReplayingGateway(file)
    file.write_text('{"request": "00", "task": "x"}\n')
    with pytest.raises(ConfigurationError, match="line 1"):
        ReplayingGateway(file)


@given(st.integers(0, 2**70), st.text(st.characters(exclude_categories=())))
def test_another_input_is_another_request(number: int, text: str) -> None:
    one = request_digest(a_request(input={"number": number, "text": text}))
    assert one == request_digest(a_request(input={"text": text, "number": number}))
    assert one != request_digest(a_request(input={"number": number + 1, "text": text}))


def named(name: str) -> ScriptedGateway:
    """A gateway that answers its name and the model that it was asked for."""
    return ScriptedGateway(Rule(lambda request: [name, request.model]))


@pytest.mark.parametrize(
    ("alias", "answer"),
    [
        ("openai:gpt-x", ["openai", "gpt-x"]),
        ("openai:eu:gpt-x", ["europe", "gpt-x"]),
        ("openai:", ["openai", None]),
        ("fast", ["fast", None]),
        ("faster", ["default", None]),
        (None, ["default", None]),
    ],
)
async def test_an_alias_chooses_the_gateway_and_what_it_is_asked_for(alias: str | None, answer: JsonValue) -> None:
    gateways = {"openai:": named("openai"), "openai:eu:": named("europe"), "fast": named("fast")}
    gateway = DispatchingGateway(gateways, default=named("default"))
    assert (await gateway.invoke(a_request(model=alias))).value == answer


async def test_an_alias_that_nobody_answers_for_is_an_error_without_a_default() -> None:
    gateway = DispatchingGateway({"fast": named("fast")})
    for alias in ("slow", None):
        with pytest.raises(ModelGatewayError, match="MODEL_ALIAS_UNKNOWN"):
            await gateway.invoke(a_request(model=alias))


class Held:
    """A gateway that holds something."""

    closed = 0

    async def invoke(self, request: ModelRequest) -> ModelResult:
        return ModelResult(None, "held", "held", ModelUsage())

    async def aclose(self) -> None:
        self.closed += 1


async def test_closing_reaches_through_to_what_holds_connections_once(tmp_path: Path) -> None:
    held = Held()
    await close_gateway(
        RecordingGateway(DispatchingGateway({"a": held, "b": named("b")}, default=held), tmp_path / "answers.jsonl")
    )
    await close_gateway(named("nothing to close"))
    await close_gateway(None)
    assert held.closed == 1
