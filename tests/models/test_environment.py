"""The gateway of the environment, and what a process that uses no provider must not import."""

from __future__ import annotations

import subprocess
import sys

import pytest
from intention_kernel.errors import ConfigurationError, ModelGatewayError
from intention_kernel.models.closing import close_gateway
from intention_kernel.models.environment import gateway_from_environment
from intention_kernel.models.settings import DEFAULT_MODELS, VARIABLES, ModelSettings

from tests.models.requests import a_request
from tests.models.wire_server import wire_server

KEY = "canary-key-8842"
NAMES = (*VARIABLES.values(), "INTENTION_MODEL")


@pytest.fixture(autouse=True)
def _without_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


def test_without_keys_and_a_server_there_is_no_gateway() -> None:
    assert gateway_from_environment() is None


async def test_a_local_server_is_asked_for_the_model_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    async with wire_server() as server:
        monkeypatch.setenv("INTENTION_MODEL_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("INTENTION_MODEL", "qwen3:8b")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        gateway = gateway_from_environment()
        assert gateway is not None
        for alias in (None, "fast", "local:llama4"):
            assert (await gateway.invoke(a_request(model=alias))).value == {"mode": "ok"}
        await close_gateway(gateway)
    assert [body["model"] for body in server.bodies] == ["qwen3:8b", "qwen3:8b", "llama4"]
    assert not any(KEY in key for key in server.keys)


@pytest.mark.parametrize("provider", DEFAULT_MODELS)
def test_a_key_alone_chooses_its_provider(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLES[provider], KEY)
    assert ModelSettings().default_model() == (provider, DEFAULT_MODELS[provider])


def test_the_named_model_goes_before_the_first_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in DEFAULT_MODELS:
        monkeypatch.setenv(VARIABLES[provider], KEY)
    assert ModelSettings().default_model() == ("openai", DEFAULT_MODELS["openai"])
    monkeypatch.setenv("INTENTION_MODEL", "google:gemini-x")
    assert ModelSettings().default_model() == ("google", "gemini-x")
    monkeypatch.setenv("INTENTION_MODEL_BASE_URL", "http://127.0.0.1:1/v1")
    assert ModelSettings().default_model() == ("google", "gemini-x")
    monkeypatch.setenv("INTENTION_MODEL", "local:google-like:7b")
    assert ModelSettings().default_model() == ("local", "google-like:7b")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"INTENTION_MODEL": "openai:gpt-x"}, "OPENAI_API_KEY, which is not set"),
        ({"INTENTION_MODEL": "gpt-x"}, "INTENTION_MODEL: is not openai:MODEL"),
        ({"INTENTION_MODEL": "opnai:gpt-x", "OPENAI_API_KEY": KEY}, "INTENTION_MODEL: is not openai:MODEL"),
        ({"INTENTION_MODEL": "openai:", "OPENAI_API_KEY": KEY}, "names a provider and no model"),
        ({"INTENTION_MODEL_BASE_URL": "http://127.0.0.1:1/v1"}, "INTENTION_MODEL: is not set"),
    ],
)
def test_settings_that_cannot_work_are_told(
    variables: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=words) as raised:
        gateway_from_environment()
    assert KEY not in str(raised.value)


async def test_an_alias_of_a_provider_without_a_key_is_told_and_not_sent_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("INTENTION_MODEL_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("INTENTION_MODEL", "qwen3")
    gateway = gateway_from_environment()
    assert gateway is not None
    with pytest.raises(ModelGatewayError, match=r"MODEL_AUTHENTICATION: .*ANTHROPIC_API_KEY is not set"):
        await gateway.invoke(a_request(model="anthropic:claude-x"))
    await close_gateway(gateway)


def test_keys_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in DEFAULT_MODELS:
        monkeypatch.setenv(VARIABLES[provider], KEY)
    assert KEY not in repr(ModelSettings())
    assert KEY not in ModelSettings().model_dump_json()


IMPORTED = """
import sys
{program}
print(*(name for name in ("pydantic_ai", "openai", "anthropic", "google.genai", "httpx2", "tiktoken") if name in sys.modules))
"""


def loaded_by(program: str, **environment: str) -> list[str]:
    """The providers' packages that a program has imported at its end."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED.format(program=program)],
        env={"PATH": "/usr/bin", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


WITHOUT = """
import intention_kernel.cli.main, intention_kernel.application, intention_kernel.models.script
import intention_kernel.models.dispatch, intention_kernel.models.recording
from intention_kernel.models.environment import gateway_from_environment
assert gateway_from_environment() is None
"""
WITH_ONE = """
from intention_kernel.models.environment import gateway_from_environment
assert gateway_from_environment() is not None
"""


def test_a_process_that_uses_no_provider_imports_none() -> None:
    assert loaded_by(WITHOUT) == []


def test_a_process_with_one_provider_imports_that_one_alone() -> None:
    loaded = loaded_by(WITH_ONE, ANTHROPIC_API_KEY=KEY)
    assert "anthropic" in loaded
    assert not {"openai", "google.genai"} & set(loaded)


def test_without_the_extra_the_error_says_what_to_install() -> None:
    program = f"""
sys.modules["pydantic_ai"] = None
from intention_kernel.errors import ConfigurationError
try:
    {WITH_ONE.strip().splitlines()[0]}
    gateway_from_environment()
except ConfigurationError as error:
    assert "intention-kernel[models]" in str(error), error
else:
    raise SystemExit("no error")
"""
    assert "anthropic" not in loaded_by(program, ANTHROPIC_API_KEY=KEY)
