"""A conversation as a test writes it: what the user says and clicks, and what is known after it (docs/testing.md)."""

from __future__ import annotations

from collections.abc import Mapping

from intention_kernel.agent.compiled import CompiledAgent, RunTurnInput, RunTurnResult
from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.facts import FactRecord
from intention_kernel.contracts.interactions import Interaction, InteractionOption, InteractionSelection
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import Receipt
from intention_kernel.ports.model_gateway import ModelGateway
from intention_kernel.runtime.stages.state import KernelState, state_of
from intention_kernel.testing.in_process import MemoryDurability
from intention_kernel.testing.seen import SeenEvent, fail, shown
from intention_kernel.testing.spoken import SpokenTurn


class Talk:
    """One thread of a compiled agent over a memory durability.

    Give the gateway and the ports, or a `durability` that has them: one that several threads share, or that has settings of
    its own. `turns` are the turns so far, continuations among them. A turn that fails raises what failed it. `agent` may be
    replaced, as a deploy does. `host_context` goes with every message that has none of its own.
    """

    def __init__(
        self,
        agent: CompiledAgent,
        gateway: ModelGateway | None = None,
        *,
        ports: Mapping[str, object] | None = None,
        durability: MemoryDurability | None = None,
        thread_id: str = "thread-1",
        tenant_id: str | None = None,
        host_context: Mapping[str, JsonValue] | None = None,
    ) -> None:
        self.agent = agent
        self.durability = _durability(gateway, ports, durability)
        self.thread_id = thread_id
        self.tenant_id = tenant_id
        self.host_context = host_context
        self.turns: list[SpokenTurn] = []
        self._requests = 0

    async def says(
        self,
        text: str,
        *,
        host_context: Mapping[str, JsonValue] | None = None,
        summary: str | None = None,
    ) -> SpokenTurn:
        """The user writes a message. Raises what failed the turn."""
        return await self._asks(text, None, host_context, summary)

    async def clicks(self, option: str, *, host_context: Mapping[str, JsonValue] | None = None) -> SpokenTurn:
        """The user clicks an option of the open question, by its id or label; its label is the message.

        Raises AssertionError where no question is open, or none with that option; `selects` clicks what is not there.
        """
        asked = self.interaction
        if asked is None:
            raise AssertionError(f"there is nothing to click: no question is open, so {option!r} is no option")
        chosen = _option(asked, option)
        click = InteractionSelection(interaction_id=asked.id, option_id=chosen.id)
        return await self._asks(chosen.label, click, host_context, None)

    async def selects(self, selection: InteractionSelection, text: str = "") -> SpokenTurn:
        """Send a click as it is: an action, or one that came too late."""
        return await self._asks(text, selection, None, None)

    async def replays(self, turn: SpokenTurn) -> SpokenTurn:
        """The broker delivers a turn's request again. Asserts that the stored result came back and nothing else happened."""
        if turn.request is None:
            raise AssertionError("a continuation has no request of a user; replay another turn")
        before = (len(self.events), self.effects, self.state)
        result = await self.agent.run(turn.request, durability=self.durability)
        if not result.replayed or result.response != turn.result.response:
            fail(f"{result.turn_id} was not replayed", [shown(dict(result.response or {}))])
        if before != (len(self.events), self.effects, self.state):
            fail(f"the replay of {result.turn_id} left something", [event.type for event in self.events[before[0] :]])
        return self._spoken(result, turn.request)

    async def settles_as_applied(self, effect_key: str, value: JsonValue) -> SpokenTurn:
        """Somebody finds out that the effect happened, with this value. Returns the turn that goes on with it."""
        return await self._settles(effect_key, value, applied=True)

    async def settles_as_not_applied(self, effect_key: str) -> SpokenTurn:
        """Somebody finds out that it did not happen. Returns the turn that goes on: it makes the next attempt."""
        return await self._settles(effect_key, None, applied=False)

    def loses_reply(self, capability_id: str) -> None:
        """The next external write of that capability is made, and its reply gets lost."""
        self.durability.lose_reply(capability_id)

    def advances(self, seconds: float) -> None:
        """Let time go by; nothing else moves the clock."""
        self.durability.clock.advance(seconds)

    @property
    def state(self) -> KernelState:
        """The checkpoint with types; empty before the first turn."""
        checkpoint = self.durability.checkpoint(self.thread_id)
        return state_of(checkpoint) if checkpoint is not None else KernelState((), {}, (), None)

    @property
    def interaction(self) -> Interaction | None:
        """The open question."""
        return self.state.interaction

    @property
    def facts(self) -> dict[str, JsonValue]:
        """The values of the thread's facts by `type@version`; `fact` has evidence and lineage."""
        return {key: record.value for key, record in self.state.facts.items()}

    def fact(self, fact_type: str, version: int = 1) -> FactRecord:
        """A fact with its evidence and who produced it."""
        key = f"{fact_type}@{version}"
        found = self.state.facts.get(key)
        if found is None:
            fail(f"the thread has no fact {key}", [f"{name}: {shown(value)}" for name, value in self.facts.items()])
        return found

    @property
    def agenda(self) -> tuple[AgendaItem, ...]:
        """Everything that is unfinished, in order."""
        return self.state.agenda

    def unfinished(self, capability_id: str) -> AgendaItem:
        """The first agenda item of that capability."""
        for item in self.agenda:
            if item.capability_id == capability_id:
                return item
        found = [f"{item.capability_id}: {item.status}, {item.intention.objective!r}" for item in self.agenda]
        fail(f"nothing on the agenda is for {capability_id}", found)

    @property
    def effects(self) -> dict[str, Receipt]:
        """The receipts of the thread by effect key: state, attempt, payload, value."""
        return self.durability.receipts(self.thread_id)

    def effect(self, effect_key: str) -> Receipt:
        """The receipt of that key."""
        found = self.effects.get(effect_key)
        if found is None:
            fail(f"the thread has no effect {effect_key}", [f"{key}: {r.state}" for key, r in self.effects.items()])
        return found

    @property
    def events(self) -> tuple[SeenEvent, ...]:
        """All committed events, in order."""
        return tuple(SeenEvent.of(envelope) for envelope in self.durability.events(self.thread_id))

    async def _asks(
        self,
        text: str,
        selection: InteractionSelection | None,
        host_context: Mapping[str, JsonValue] | None,
        summary: str | None,
    ) -> SpokenTurn:
        self._requests += 1
        request = RunTurnInput(
            thread_id=self.thread_id,
            turn_id=f"turn-{self._requests}",
            text=text,
            selection=selection,
            summary=summary,
            host_context=host_context if host_context is not None else self.host_context,
            tenant_id=self.tenant_id,
        )
        return self._kept(await self.agent.run(request, durability=self.durability), request)

    async def _settles(self, effect_key: str, value: JsonValue, *, applied: bool) -> SpokenTurn:
        receipt = self.effect(effect_key)
        await self.durability.settle(receipt.receipt_id, "applied" if applied else "not_applied", value)
        results = await self.durability.run_continuations(self.agent, self.thread_id)
        turns = [self._kept(result, None) for result in results]
        if not turns:
            raise AssertionError(f"{effect_key} is settled, and no turn goes on with it")
        return turns[-1]

    def _kept(self, result: RunTurnResult, request: RunTurnInput | None) -> SpokenTurn:
        turn = self._spoken(result, request)
        self.turns.append(turn)
        return turn

    def _spoken(self, result: RunTurnResult, request: RunTurnInput | None) -> SpokenTurn:
        events = tuple(event for event in self.events if event.turn_id == result.turn_id)
        return SpokenTurn(result, events, self.effects, self.durability.effect_errors(self.thread_id), request)


def _durability(
    gateway: ModelGateway | None, ports: Mapping[str, object] | None, given: MemoryDurability | None
) -> MemoryDurability:
    if given is not None and gateway is None and ports is None:
        return given
    if given is None and gateway is not None:
        return MemoryDurability(gateway, ports=ports)
    raise TypeError("give Talk a gateway (and ports), or a durability that has them")


def _option(asked: Interaction, wanted: str) -> InteractionOption:
    for option in asked.options:
        if wanted in (option.id, option.label):
            return option
    fail(f"the open question has no option {wanted!r}", [f"{option.id}: {option.label}" for option in asked.options])
