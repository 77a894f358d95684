"""What callers may rely on with any gateway, over all that we have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from intention_kernel.contracts import json_codec
from intention_kernel.errors import ModelGatewayError
from intention_kernel.models.closing import close_gateway
from intention_kernel.models.dispatch import DispatchingGateway
from intention_kernel.models.providers.gateway import ProviderGateway
from intention_kernel.models.recording import RecordingGateway, ReplayingGateway
from intention_kernel.models.script import ConversationScript
from intention_kernel.models.scripted import Rule, ScriptedGateway
from intention_kernel.ports.model_gateway import ModelGateway

from tests.models.requests import CANARY, a_request
from tests.models.wire_server import Reply, wire_server

KINDS = (
    "scripted",
    "conversation",
    "dispatching",
    "recording",
    "replaying",
    "openai",
    "anthropic",
    "google",
    "local",
)
FAILING = a_request(system="Fail.", input={"currentMessage": {"content": f"{CANARY} fails", "index": 1}})


@dataclass
class Subject:
    """A gateway that answers `a_request()` and fails `FAILING`."""

    gateway: ModelGateway


@pytest.fixture(params=KINDS)
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    async with AsyncExitStack() as stack:
        gateway = await _gateway(request.param, tmp_path / "answers.jsonl", stack)
        yield Subject(gateway)
        await close_gateway(gateway)


async def _gateway(kind: str, file: Path, stack: AsyncExitStack) -> ModelGateway:
    scripted = ScriptedGateway(
        Rule(ModelGatewayError("MODEL_REFUSED", "as scripted"), when=lambda r: r.system == "Fail."),
        Rule({"mode": "ok"}),
    )
    match kind:
        case "scripted":
            return scripted
        case "conversation":
            script = ConversationScript()
            script.when(CANARY).proposes("order.cancel")
            return script
        case "dispatching":
            return DispatchingGateway({}, default=scripted)
        case "recording":
            return RecordingGateway(scripted, file)
        case "replaying":
            await RecordingGateway(scripted, file).invoke(a_request())
            return ReplayingGateway(file)
    server = await stack.enter_async_context(wire_server())
    server.replies = []
    server.reply_to = lambda body: Reply("refusal") if "Fail." in json_codec.dumps(body).decode() else Reply()
    base = f"{server.url}/v1" if kind in ("openai", "local") else server.url
    model = "claude-haiku-4-5" if kind == "anthropic" else "a-model"
    gateway = ProviderGateway(kind, model, key="k", base_url=base)
    gateway.load()  # the import of a client takes seconds, and would count as the first request's time
    return gateway


async def test_an_answer_is_json_with_the_names_of_its_makers(subject: Subject) -> None:
    result = await subject.gateway.invoke(a_request())
    json_codec.check(result.value)
    assert isinstance(result.value, dict)
    assert result.value["mode"] in ("ok", "selected")
    assert result.provider
    assert result.model
    for count in (result.usage.input_tokens, result.usage.output_tokens):
        assert count is None or count > 0


async def test_the_same_request_gets_the_same_answer(subject: Subject) -> None:
    answers = await asyncio.gather(*(subject.gateway.invoke(a_request()) for _ in range(5)))
    assert all(answer == answers[0] for answer in answers)


async def test_a_failure_is_an_error_of_the_port_without_what_was_asked(subject: Subject) -> None:
    with pytest.raises(ModelGatewayError) as raised:
        await subject.gateway.invoke(FAILING)
    error = raised.value
    assert error.code.startswith("MODEL_")
    assert error.code == error.code.upper()
    assert error.detail
    if not isinstance(subject.gateway, ConversationScript):  # a test's own words, which its author has to find again
        assert CANARY not in str(error)


async def test_after_a_failure_the_next_request_is_answered(subject: Subject) -> None:
    with pytest.raises(ModelGatewayError):
        await subject.gateway.invoke(FAILING)
    assert (await subject.gateway.invoke(a_request())).value is not None


async def test_a_request_that_is_cancelled_at_any_step_leaves_no_task(subject: Subject) -> None:
    """Cancelled at its first step, then at its second, and so on, until it ends before."""
    await subject.gateway.invoke(a_request())
    before = asyncio.all_tasks()
    for steps in range(0, 40, 2):
        asking = asyncio.create_task(subject.gateway.invoke(a_request()))
        for _ in range(steps):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait({asking})
        mine = {task for task in asyncio.all_tasks() - before if "uvicorn" not in repr(task)}
        assert mine == set()
    assert (await subject.gateway.invoke(a_request())).value is not None
