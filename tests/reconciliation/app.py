"""A tiny application for the real process: its provider is a file, so that what it did outlives a kill."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from intention_kernel.agent.agent import Agent
from intention_kernel.agent.context import TurnContext
from intention_kernel.agent.effect import (
    Absent,
    Answer,
    EffectAuthority,
    Found,
    IdempotentRetry,
    Lookup,
    Ports,
    ReceiptView,
)
from intention_kernel.application.definition import Application
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.result import Response, TurnResult

from tests.reconciliation.bench import AGENT, EFFECT_ID, effect

RETRIED_ID = "shop.repeat"
VARIABLE = "TEST_PROVIDER"
"""Path of the provider's ledger: one JSON object a line, in the order of the calls."""


class Provider:
    """Appends every call, answers a repeated key with its first answer."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger

    def entries(self) -> list[dict[str, JsonValue]]:
        """What was asked of it, oldest first."""
        return [json.loads(line) for line in self._ledger.read_text().splitlines()] if self._ledger.exists() else []

    def find(self, key: str) -> JsonValue:
        """The answer of the call with that key; a lookup is on record too."""
        self._append({"lookup": key})
        return next((entry["answer"] for entry in self.entries() if entry.get("applied") == key), None)

    def apply(self, key: str, payload: JsonValue) -> JsonValue:
        """Apply once per key."""
        known = next((entry["answer"] for entry in self.entries() if entry.get("applied") == key), None)
        answer: JsonValue = {"charge": f"charge of {key}"} if known is None else known
        self._append({"applied" if known is None else "repeated": key, "payload": payload, "answer": answer})
        return answer

    def _append(self, entry: dict[str, JsonValue]) -> None:
        descriptor = os.open(self._ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(descriptor, json.dumps(entry).encode() + b"\n")
        finally:
            os.close(descriptor)


@asynccontextmanager
async def _provider() -> AsyncIterator[Provider]:
    yield Provider(Path(os.environ[VARIABLE]))


def _of(ports: Ports) -> Provider:
    provider = ports["provider"]
    assert isinstance(provider, Provider)
    return provider


async def _find(view: ReceiptView, ports: Ports) -> Answer:
    answer = await asyncio.to_thread(_of(ports).find, view.idempotency_key)
    return Absent() if answer is None else Found(answer, "ref")


async def _call(payload: JsonValue, authority: EffectAuthority, ports: Ports) -> JsonValue:
    return await asyncio.to_thread(_of(ports).apply, authority.idempotency_key, payload)


async def _program(_: TurnContext) -> TurnResult:
    return TurnResult(Response("nothing to do"))


application = Application(
    agents=(
        Agent(
            AGENT,
            _program,
            (
                effect(Lookup(_find)),
                effect(
                    IdempotentRetry(),
                    effect_id=RETRIED_ID,
                    call=_call,
                    call_timeout_seconds=2.0,
                    provider_deduplicates=True,
                    key_window_seconds=3600,
                ),
            ),
        ),
    ),
    ports={"provider": _provider},
)
"""EFFECT_ID is looked up, RETRIED_ID repeated."""

__all__ = ["EFFECT_ID", "RETRIED_ID", "VARIABLE", "Provider", "application"]
