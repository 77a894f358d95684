"""One client per provider; each is imported when it is first needed, since an import takes seconds."""

# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import httpx2
from pydantic_ai.models import Model, create_async_httpx2_client

ModelMaker = Callable[[str], Model[Any]]
"""The model of that name, over the provider's one client."""

KEYLESS = "none"
"""Sent to a local server as its key: clients insist on one, and a real one is none of its business."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How a provider is reached. `keeps_open_parts`: its native JSON output takes schemas with parts of any form."""

    make: Callable[[str, str | None, httpx2.AsyncClient], ModelMaker]
    keeps_open_parts: bool


def _openai(key: str, base_url: str | None, http: httpx2.AsyncClient) -> ModelMaker:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=base_url, api_key=key, http_client=http)
    return lambda name: OpenAIChatModel(name, provider=provider)


def _local(key: str, base_url: str | None, http: httpx2.AsyncClient) -> ModelMaker:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    provider = OpenAICompatibleProvider("local", base_url=base_url or "", api_key=key, http_client=http)
    return lambda name: OpenAIChatModel(name, provider=provider)


def _anthropic(key: str, base_url: str | None, http: httpx2.AsyncClient) -> ModelMaker:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(api_key=key, base_url=base_url, http_client=http)
    return lambda name: AnthropicModel(name, provider=provider)


def _google(key: str, base_url: str | None, http: httpx2.AsyncClient) -> ModelMaker:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(api_key=key, base_url=base_url, http_client=http)
    return lambda name: GoogleModel(name, provider=provider)


KINDS: Final = {
    "openai": Kind(_openai, keeps_open_parts=True),
    "anthropic": Kind(_anthropic, keeps_open_parts=False),
    "google": Kind(_google, keeps_open_parts=False),
    "local": Kind(_local, keeps_open_parts=True),
}


def http_client() -> httpx2.AsyncClient:
    """Pooled connections; a connection that is not there after 5 seconds is none."""
    return create_async_httpx2_client()
