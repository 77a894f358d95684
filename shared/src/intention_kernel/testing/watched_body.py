"""A turn's body under a test: it remembers what was raised, and can lose the reply of an external write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from intention_kernel.agent.context import EffectResult, Operation, ReceiptReference
from intention_kernel.agent.effect import Effect, EffectAuthority
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import EffectError, TurnHeldError
from intention_kernel.ports.turn_body import Draft, Failure, Opened, Render, TurnAttempt, TurnScope, UncertainStep
from intention_kernel.runtime.agent_body import AgentBody

LostReplies = Counter[str]
"""Effect id -> how many of its next replies get lost."""


@dataclass(slots=True)
class WatchedBody:
    """`raised` is the error of the last attempt, so that a test sees the error itself. `effect_errors` gets what `run_effect`
    raised, by effect key: a turn that is blocked tells its user no more than that it is."""

    body: AgentBody
    lost_replies: LostReplies = field(default_factory=Counter)
    effect_errors: dict[str, str] = field(default_factory=dict)
    raised: Exception | None = None

    @property
    def fingerprint(self) -> str:
        return self.body.fingerprint

    @property
    def accepts(self) -> tuple[str, ...]:
        return self.body.accepts

    @property
    def timeout_seconds(self) -> float:
        return self.body.timeout_seconds

    async def run(self, opened: Opened, scope: TurnScope) -> Draft:
        self.raised = None
        try:
            return await self.body.run(opened, _WatchedScope(scope, self.lost_replies, self.effect_errors))
        except Exception as error:
            self.raised = error
            raise

    def failed(self, opened: Opened, failure: Failure) -> Render:
        return self.body.failed(opened, failure)


@dataclass(slots=True)
class _WatchedScope:
    """A scope whose operations do their work, and whose replies may not arrive."""

    scope: TurnScope
    lost_replies: LostReplies
    effect_errors: dict[str, str]

    @property
    def attempt(self) -> TurnAttempt:
        return self.scope.attempt

    @property
    def uncertain(self) -> Mapping[str, UncertainStep]:
        return self.scope.uncertain

    @property
    def receipts(self) -> Mapping[str, ReceiptReference]:
        return self.scope.receipts

    async def run_effect(self, effect: Effect, key: str, operation: Operation, payload: JsonValue) -> EffectResult:
        async def losing(authority: EffectAuthority) -> JsonValue:
            value = await operation(authority)
            if self.lost_replies[effect.id] > 0:
                self.lost_replies[effect.id] -= 1
                _lose(effect.id, key)
            return value

        try:
            result = await self.scope.run_effect(effect, key, losing, payload)
        except EffectError as error:
            self.effect_errors[f"{effect.id}:{key}"] = str(error)
            raise
        self.effect_errors.pop(f"{effect.id}:{key}", None)
        return result

    async def recorded(self, name: str, request: JsonValue, operation: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
        return await self.scope.recorded(name, request, operation)

    async def finish(self, effect_keys: Iterable[str]) -> None:
        await self.scope.finish(effect_keys)

    def hold(self, why: TurnHeldError) -> NoReturn:
        self.scope.hold(why)

    async def close(self) -> None:
        await self.scope.close()


def _lose(effect_id: str, key: str) -> NoReturn:
    raise ConnectionError(f"the reply of {effect_id}:{key} is lost, as the test asked")
