"""Providers over real sockets: a server that speaks each wire format, well and badly."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from intention_kernel.errors import ModelGatewayError
from intention_kernel.models.providers import gateway as gateway_module
from intention_kernel.models.providers.gateway import MAX_TRIES, ProviderGateway
from intention_kernel.models.providers.messages import MAX_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS_THINKING

from tests.models.requests import CANARY, CLOSED, OPEN, a_request
from tests.models.wire_server import Reply, WireServer, wire_server
from tests.support.eventually import eventually

KEY = "canary-key-5519"
MODELS = {
    "openai": "gpt-4o",
    "anthropic": "claude-haiku-4-5",
    "google": "gemini-3.8-flash",
    "local": "qwen3:8b",
}
PROVIDERS = list(MODELS)


def gateway_at(provider: str, url: str) -> ProviderGateway:
    """A gateway of that provider at this address."""
    base = f"{url}/v1" if provider in ("openai", "local") else url
    gateway = ProviderGateway(provider, MODELS[provider], key=KEY, base_url=base)
    gateway.load()  # the import of a client takes seconds, and would count as the first request's time
    return gateway


@asynccontextmanager
async def served(provider: str, *replies: Reply) -> AsyncIterator[tuple[ProviderGateway, WireServer]]:
    async with wire_server() as server:
        server.replies = list(replies) or [Reply()]
        gateway = gateway_at(provider, server.url)
        try:
            yield gateway, server
        finally:
            await gateway.aclose()


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_answer_is_its_json_with_names_and_usage(provider: str) -> None:
    async with served(provider) as (gateway, server):
        result = await gateway.invoke(a_request())
    assert result.value == {"mode": "ok"}
    assert result.provider == provider
    assert result.model.endswith("-dated")
    assert (result.usage.input_tokens, result.usage.output_tokens) == (11, 7)
    assert len(server.bodies) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_request_carries_instructions_capabilities_input_and_schema(provider: str) -> None:
    async with served(provider) as (gateway, server):
        await gateway.invoke(a_request())
    sent = json.dumps(server.bodies[0])
    assert "Choose." in sent
    assert "order.cancel" in sent
    assert CANARY in sent
    assert '"enum": ["ok", "other"]' in sent
    assert KEY in server.keys[0]


NATIVE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "openai": lambda body: body["response_format"]["json_schema"]["schema"],
    "anthropic": lambda body: body["output_config"]["format"]["schema"],
    "google": lambda body: body["generationConfig"]["responseJsonSchema"],
    "local": lambda body: body["response_format"]["json_schema"]["schema"],
}
LIMIT: dict[str, Callable[[dict[str, Any]], Any]] = {
    "openai": lambda body: body["max_completion_tokens"],
    "anthropic": lambda body: body["max_tokens"],
    "google": lambda body: body["generationConfig"]["maxOutputTokens"],
    "local": lambda body: body["max_completion_tokens"],
}
TEMPERATURE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "openai": lambda body: body["temperature"],
    "anthropic": lambda body: body["temperature"],
    "google": lambda body: body["generationConfig"]["temperature"],
    "local": lambda body: body["temperature"],
}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_provider_holds_the_model_to_the_schema_at_a_low_temperature(provider: str) -> None:
    """Contract 3.12: temperature 0.15 where words are composed, 0 elsewhere, 4,096 tokens."""
    async with served(provider) as (gateway, server):
        await gateway.invoke(a_request())
        await gateway.invoke(a_request(task="response.compose"))
    deciding, composing = server.bodies
    assert NATIVE[provider](deciding)["properties"]["mode"]["enum"] == ["ok", "other"]
    assert LIMIT[provider](deciding) == MAX_OUTPUT_TOKENS == 4_096
    assert TEMPERATURE[provider](deciding) == 0
    assert TEMPERATURE[provider](composing) == 0.15


@pytest.mark.parametrize(
    ("provider", "model"), [("openai", "gpt-6.1-terra"), ("anthropic", "claude-sonnet-5-5"), ("openai", "o3")]
)
async def test_a_model_that_thinks_gets_room_to_and_no_temperature(provider: str, model: str) -> None:
    async with served(provider) as (gateway, server):
        result = await gateway.invoke(a_request(model=model))
    assert server.bodies[0]["model"] == model
    assert "temperature" not in server.bodies[0]
    assert LIMIT[provider](server.bodies[0]) == MAX_OUTPUT_TOKENS_THINKING
    assert result.value == {"mode": "ok"}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_part_of_any_form_comes_back_whole(provider: str) -> None:
    """Native output of Anthropic and Gemini empties what its schema leaves open: there a tool is called."""
    answer = {"mode": "ok", "input": {"orderId": 7, "lines": [{"sku": "FILTER-A", "price": 1.5}], "note": None}}
    async with served(provider, Reply(text=json.dumps(answer))) as (gateway, server):
        result = await gateway.invoke(a_request(output_schema=OPEN))
    assert result.value == answer
    assert ("tools" in server.bodies[0]) == (provider in ("anthropic", "google"))


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_answer_that_is_no_object_travels_in_one(provider: str) -> None:
    schema = {"anyOf": [CLOSED, {"type": "object", "properties": {}, "additionalProperties": False}]}
    async with served(provider, Reply(text='{"answer": {"mode": "other"}}')) as (gateway, server):
        result = await gateway.invoke(a_request(output_schema=schema))
    assert result.value == {"mode": "other"}
    assert NATIVE[provider](server.bodies[0])["type"] == "object"


async def test_json_in_a_block_of_markdown_is_json() -> None:
    async with served("local", Reply(text='```json\n{"mode": "ok"}\n```')) as (gateway, _):
        assert (await gateway.invoke(a_request())).value == {"mode": "ok"}


FAILURES = [
    (Reply("refusal"), "MODEL_REFUSED", False),
    (Reply(text="I think so"), "MODEL_JSON_INVALID", False),
    (Reply(text='{"mode": NaN}'), "MODEL_JSON_INVALID", False),
    (Reply("at limit"), "MODEL_JSON_INVALID", False),
    (Reply("empty"), "MODEL_EMPTY_RESPONSE", False),
    (Reply("no json"), "MODEL_PROVIDER_FAILURE", True),
    (Reply("cut off"), "MODEL_UNAVAILABLE", True),
    (Reply("400"), "MODEL_REQUEST_INVALID", False),
    (Reply("401"), "MODEL_AUTHENTICATION", False),
    (Reply("403"), "MODEL_AUTHENTICATION", False),
    (Reply("404"), "MODEL_REQUEST_INVALID", False),
    (Reply("413"), "MODEL_REQUEST_INVALID", False),
    (Reply("429"), "MODEL_RATE_LIMITED", True),
    (Reply("429", retry_after="3600"), "MODEL_RATE_LIMITED", True),
    (Reply("500"), "MODEL_PROVIDER_FAILURE", True),
    (Reply("502"), "MODEL_PROVIDER_FAILURE", True),
    (Reply("503"), "MODEL_UNAVAILABLE", True),
]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(("reply", "code", "retryable"), FAILURES, ids=lambda value: str(getattr(value, "kind", value)))
async def test_a_failure_has_its_code_and_is_not_repeated(
    provider: str, reply: Reply, code: str, retryable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with served(provider, reply) as (gateway, server):
        caplog.clear()
        with pytest.raises(ModelGatewayError) as raised:
            await gateway.invoke(a_request())
    error = raised.value
    assert (error.code, error.retryable) == (code, retryable), error
    assert len(server.bodies) == 1
    assert error.__cause__ is None
    told = "".join(traceback.format_exception(error)) + repr(error) + "".join(r.getMessage() for r in caplog.records)
    assert KEY not in told
    assert CANARY not in str(error)
    assert "would rather not" not in str(error)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_error_keeps_nothing_of_the_client_that_met_it(provider: str) -> None:
    """What hangs on an error is written to logs and trackers: the chain of causes ends with it."""
    async with served(provider, Reply("500")) as (gateway, _):
        with pytest.raises(ModelGatewayError) as raised:
            await gateway.invoke(a_request())
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", ["slow", "trickle"])
async def test_no_answer_in_time_is_a_timeout(provider: str, kind: str) -> None:
    async with served(provider, Reply(kind)) as (gateway, server):
        await _warm(gateway, server, provider)
        before = asyncio.get_running_loop().time()
        with pytest.raises(ModelGatewayError) as raised:
            await gateway.invoke(a_request(timeout_seconds=0.4))
        assert 0.35 <= asyncio.get_running_loop().time() - before < 5
    assert (raised.value.code, raised.value.retryable) == ("MODEL_TIMEOUT", True)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_rate_limit_that_ends_in_time_is_waited_for(provider: str) -> None:
    async with served(provider, Reply("429", retry_after="1"), Reply()) as (gateway, server):
        before = asyncio.get_running_loop().time()
        result = await gateway.invoke(a_request())
        assert asyncio.get_running_loop().time() - before >= 1
    assert result.value == {"mode": "ok"}
    assert len(server.bodies) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_server_that_is_not_there_is_tried_a_few_times(provider: str, pauses: list[float]) -> None:
    gateway = gateway_at(provider, f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ModelGatewayError) as raised:
        await gateway.invoke(a_request())
    assert (raised.value.code, raised.value.retryable) == ("MODEL_UNAVAILABLE", True)
    assert len(pauses) == MAX_TRIES
    assert pauses == sorted(pauses)
    await gateway.aclose()


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_server_that_comes_up_meanwhile_answers(provider: str, pauses: list[float]) -> None:
    port = free_port()
    gateway = gateway_at(provider, f"http://127.0.0.1:{port}")
    asking = asyncio.create_task(gateway.invoke(a_request()))
    await eventually(lambda: pauses)
    async with wire_server(port) as server:
        assert (await asking).value == {"mode": "ok"}
        assert len(server.bodies) == 1
    await gateway.aclose()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses before further tries, as they begin; without their jitter."""
    begun: list[float] = []

    def noted(seconds: float) -> float:
        begun.append(seconds)
        return seconds

    monkeypatch.setattr(gateway_module, "jittered_seconds", noted)
    return begun


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_cancelling_leaves_nothing_running(provider: str) -> None:
    async with served(provider, Reply("slow")) as (gateway, server):
        before = asyncio.all_tasks()
        asking = asyncio.create_task(gateway.invoke(a_request()))
        await server.arrived.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        mine = {
            task
            for task in asyncio.all_tasks() - before
            if "uvicorn" not in repr(task) and "run_asgi" not in repr(task)
        }
        assert mine == set()


async def _warm(gateway: ProviderGateway, server: WireServer, provider: str) -> None:
    """Schemas and clients are prepared at the first request; a test of time begins after it."""
    slow, server.replies = server.replies, [Reply()]
    await gateway.invoke(a_request())
    server.replies = slow
