"""What the contract suites of Programs share: agents that act outside, the provider they act on, and attempts that die."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from intention_kernel.agent import Agent, Effect, EffectAuthority, Response, Summary, TurnContext, TurnResult
from intention_kernel.contracts.checkpoint import SCHEMA_REVISION
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.durability.outcome import TurnCommitted, TurnReplayed
from intention_kernel.errors import InfrastructureError
from intention_kernel.ids import random_id
from intention_kernel.ports.effect_store import EndAnswer, EndAttempt
from intention_kernel.ports.turn_store import Begin, Contended
from intention_kernel.testing.boundary_harness import BoundaryHarness, BoundaryStore, receipt_of
from intention_kernel.testing.conversation import Conversation
from intention_kernel.testing.raising import raising

CHARGE = Effect("charge", dict, lambda payload: Summary(f"the charge of {payload}"), call_timeout_seconds=5.0)
FIND = Effect("notify", dict, lambda payload: Summary(f"the notice of {payload}"), call_timeout_seconds=5.0)


@dataclass(slots=True)
class Provider:
    """What really happened outside, and how it answers: by key, a reply to give, or an error to raise after the write."""

    calls: list[str] = field(default_factory=list)
    errors: dict[str, list[BaseException]] = field(default_factory=dict)

    async def write(self, authority: EffectAuthority) -> JsonValue:
        self.calls.append(authority.idempotency_key)
        failing = self.errors.get(authority.idempotency_key)
        if failing:
            raise failing.pop(0)
        return {"reference": authority.idempotency_key, "attempt": authority.attempt}

    def lose_reply(self, key: str, times: int = 1) -> None:
        """The write of that key happens and its reply is lost."""
        self.errors[key] = [ConnectionError("reply lost") for _ in range(times)]


def talking(program: Callable[[TurnContext], Awaitable[TurnResult]]) -> Agent:
    """An agent with both effects."""
    return Agent("agent", program, effects=(CHARGE, FIND))


def said(text: str) -> TurnResult:
    """A plain answer."""
    return TurnResult(Response(text))


def charging(provider: Provider, *, then: Callable[[TurnContext], Awaitable[TurnResult]] | None = None) -> Agent:
    """An agent that charges `order-1` for "charge…" and echoes anything else."""

    async def program(context: TurnContext) -> TurnResult:
        if not context.input.text.startswith("charge"):
            return said(f"echo {context.input.text}")
        result = await context.run_effect("order-1", provider.write, payload={"cents": 500}, effect="charge")
        if then is not None:
            return await then(context)
        return TurnResult(Response("charged"), {"charge": result.value})

    return talking(program)


class DyingStore:
    """A store whose process dies once its effect was called: nothing of this attempt arrives any more."""

    def __init__(self, store: BoundaryStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def end(self, end: EndAttempt) -> EndAnswer | Contended:
        raise InfrastructureError("the connection is gone")

    async def release(self, thread_id: str, fence: int, *, count_attempt: bool) -> None:
        raise InfrastructureError("the connection is gone")


async def die_after_the_call(conversation: Conversation, text: str, turn_id: str) -> None:
    """An attempt that calls the provider and then dies, leaving its receipt prepared and its lease over."""
    conversation.store = DyingStore(conversation.boundary.store)  # type: ignore[assignment]  # delegates the rest
    with raising(InfrastructureError):
        await conversation.send(text, turn_id)
    conversation.store = None
    await conversation.boundary.expire_lease(conversation.thread_id)


async def settle(
    boundary: BoundaryHarness, thread_id: str, key: str, outcome: Literal["completed", "failed"], value: bytes | None
) -> None:
    """Settle the receipt on evidence."""
    receipt = await receipt_of(boundary, thread_id, key)
    assert await boundary.settle(receipt.receipt_id, receipt.version, outcome, value)


def result_of(outcome: object) -> dict[str, JsonValue]:
    """The stored result of a committed or replayed turn."""
    assert isinstance(outcome, TurnCommitted | TurnReplayed), outcome
    document = loads(outcome.result)
    assert isinstance(document, dict)
    return document


def begin_like(conversation: Conversation, text: str, turn_id: str) -> Begin:
    """What an attempt of that turn begins with."""
    request = conversation.delivery_of(text, turn_id).request
    return Begin(
        thread_id=request.thread_id,
        turn_id=request.turn_id,
        digest=request.content_digest(),
        nonce=random_id(),
        agent_id=request.agent_id,
        tenant_id=request.tenant_id,
        accepts=(conversation.agent.fingerprint,),
        schema_revision=SCHEMA_REVISION,
        attempts_limit=conversation.limits.attempts,
        lease_seconds=10.0,
    )
