"""The agent of the stress test: what it does depends on a model's plan and on what it sees of its effects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from intention_kernel.agent.agent import Agent
from intention_kernel.agent.context import TurnContext
from intention_kernel.agent.effect import Effect, EffectAuthority
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import Summary
from intention_kernel.contracts.result import Response, TurnResult
from intention_kernel.errors import EffectNotAppliedError, EffectUncertainError

from tests.stress.gates import Gates
from tests.stress.provider import Call, Provider
from tests.stress.scenario import Scenario

PREFIX = "pay"
"""Effect keys are `pay:K1`; the ledger knows them so."""


class ProgramFailedError(Exception):
    """The program's own failure."""


def effect_of(scenario: Scenario) -> Effect:
    """The one effect. Its provider's window is longer than any run."""
    return Effect(
        PREFIX,
        dict,
        describe=lambda payload: Summary(title=f"payment {payload}"),
        call_timeout_seconds=300.0,
        provider_deduplicates=scenario.keyed,
        key_window_seconds=86_400.0 if scenario.keyed else None,
    )


def agent_of(scenario: Scenario, provider: Provider, gates: Gates, choose: Callable[[int], int]) -> Agent:
    """One life's agent. `choose` draws from the seed."""
    program = _Program(scenario, provider, gates, choose)
    return Agent("payer", program.run, effects=(effect_of(scenario),))


class _Program:
    def __init__(self, scenario: Scenario, provider: Provider, gates: Gates, choose: Callable[[int], int]) -> None:
        self._scenario = scenario
        self._provider = provider
        self._gates = gates
        self._choose = choose

    async def run(self, context: TurnContext) -> TurnResult:
        """The turn is named by its text: a continuation has the text of the turn that it resumes."""
        turn = context.input.text
        plan = await self._plan(context, turn)
        blocked = False
        while plan:
            key, plan = plan[0], plan[1:]
            seen = await self._effect(context, turn, key)
            blocked = blocked or seen == "uncertain"
            if seen == "uncertain" and self._scenario.on_uncertain.get(turn, key) != key and not plan:
                plan = [self._scenario.on_uncertain[turn]]
            if seen == "failed" and key in self._scenario.fallback:
                plan = [self._scenario.fallback[key]]
            if self._scenario.asks_again and key == "K1":
                await context.recorded("again", {"outcome": seen}, self._model("thinks again", turn, "ok"))
        await self._model("concludes", turn, "done")()
        return TurnResult(Response(f"{turn} is done"), status="blocked" if blocked else "completed")

    async def _plan(self, context: TurnContext, turn: str) -> list[str]:
        plans = self._scenario.plans[turn]
        plan: JsonValue = list(plans[self._choose(len(plans))])
        think = self._model("plans", turn, plan)
        answer = await think() if self._scenario.opaque else await context.recorded("plan", {"turn": turn}, think)
        assert isinstance(answer, list)
        return [str(key) for key in answer]

    def _model(self, name: str, turn: str, answer: JsonValue) -> Callable[[], Awaitable[JsonValue]]:
        async def think() -> JsonValue:
            async def say() -> JsonValue:
                return answer

            said: JsonValue = await self._gates.wait("model", name, f"{turn} {answer}", say)
            return said

        return think

    async def _effect(self, context: TurnContext, turn: str, key: str) -> str:
        async def call(authority: EffectAuthority) -> JsonValue:
            return await self._call(turn, authority)

        payload: JsonValue = {"order": "the same" if self._scenario.twins else key}
        try:
            result = await context.run_effect(key, call, payload=payload, effect=PREFIX)
        except EffectNotAppliedError:
            return "failed"
        except EffectUncertainError:
            if self._scenario.escapes:
                raise
            return "uncertain"
        assert result.value == {"key": f"{PREFIX}:{key}"}, f"the value of {key} is {result.value}"
        return "value"

    async def _call(self, turn: str, authority: EffectAuthority) -> JsonValue:
        key = authority.idempotency_key

        async def send() -> Call:
            return self._provider.send(key, turn, authority.attempt)

        call: Call = await self._gates.wait("send", "send", f"{key}#{authority.attempt}", send)

        async def answer() -> Any:
            return call

        await self._gates.wait("reply", "reply", str(call), answer)
        if call.state == "refused":
            raise EffectNotAppliedError("the provider refused", effect_key=key)
        return {"key": key}
