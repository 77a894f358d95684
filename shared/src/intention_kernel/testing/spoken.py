"""A turn of a scripted conversation, and what may be asserted of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from intention_kernel.agent.compiled import RunTurnInput, RunTurnResult
from intention_kernel.contracts.interactions import Interaction, InteractionKind
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import Receipt
from intention_kernel.testing.seen import SeenEvent, fail, members_of, shown


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A committed turn. Its methods assert, and raise AssertionError with what there was; properties are for plain asserts.

    `receipts` are the thread's as they were right after the turn, `effect_errors` why an effect brought no value; `request`
    is None for a continuation, which nobody asked.
    """

    result: RunTurnResult
    events: tuple[SeenEvent, ...]
    receipts: Mapping[str, Receipt]
    effect_errors: Mapping[str, str]
    request: RunTurnInput | None

    @property
    def message(self) -> str | None:
        """What the agent said; None where a continuation had nothing to say."""
        response = self.result.response
        return cast("str", response["message"]) if response is not None else None

    @property
    def interaction(self) -> Interaction | None:
        """The question that the response shows."""
        response = self.result.response
        asked = response["interaction"] if response is not None else None
        return Interaction.from_json(asked) if asked is not None else None

    @property
    def types(self) -> tuple[str, ...]:
        """The types of its events, in order."""
        return tuple(event.type for event in self.events)

    @property
    def models(self) -> tuple[str, ...]:
        """The tasks that models were asked, in order."""
        asked = (members_of(event.data).get("task") for event in self.events if event.type == "model.invoked")
        return tuple(task for task in asked if isinstance(task, str))

    @property
    def capabilities(self) -> tuple[str, ...]:
        """The capabilities that ran, in order."""
        ran = (members_of(e.data).get("capabilityId") for e in self.events if e.type == "capability.invoked")
        return tuple(name for name in ran if isinstance(name, str))

    @property
    def effects(self) -> dict[str, str]:
        """The effects that the turn met: key -> how it saw them (completed, uncertain, failed or conflict)."""
        met = [members_of(event.data) for event in self.events if event.type == "effect.recorded"]
        return {cast("str", data["idempotencyKey"]): cast("str", data["status"]) for data in met if data}

    def says(self, part: str) -> None:
        """The message holds these words."""
        if part not in (self.message or ""):
            fail(f"the agent did not say {part!r}", self._said())

    def says_exactly(self, message: str) -> None:
        """The message is this, and nothing more."""
        if self.message != message:
            fail(f"the agent did not say exactly {message!r}", self._said())

    def asks(self, kind: InteractionKind, part: str = "") -> Interaction:
        """A question of that kind is shown, with these words in it. Returns it."""
        asked = self.interaction
        if asked is None or asked.kind != kind or part not in asked.goal:
            words = f" with the words {part!r}" if part else ""
            fail(f"the agent did not ask a question of kind {kind}{words}", [*self._asked(), *self._said()])
        return asked

    def asks_nothing(self) -> None:
        """No question is shown."""
        if self.interaction is not None:
            fail("the agent asked something", self._asked())

    def plans(self, capability_id: str, reason_code: str) -> None:
        """A step of that capability was planned, deferred or refused with this reason, such as CONFIRMATION_REQUIRED."""
        planned = [(step["capabilityId"], members_of(step["reason"])["code"]) for step in self._steps()]
        if (capability_id, reason_code) not in planned:
            fail(f"no step of {capability_id} has the reason {reason_code}", [f"{who}: {why}" for who, why in planned])

    def tells_issue(self, capability_id: str, issue_code: str) -> None:
        """That capability ran and returned an issue of this code."""
        failed = [members_of(event.data) for event in self.events if event.type == "capability.failed"]
        issues = [(data.get("capabilityId"), members_of(data.get("issue")).get("code")) for data in failed]
        if (capability_id, issue_code) not in issues:
            fail(f"{capability_id} did not fail with {issue_code}", [f"{who}: {code}" for who, code in issues])

    def applied(self, effect_key: str) -> Receipt:
        """The turn saw that effect completed, by its own call or by a settlement. Returns its receipt."""
        if self.effects.get(effect_key) != "completed":
            fail(f"the turn did not see {effect_key} applied", self._effects())
        return self.receipts[effect_key]

    def applied_nothing(self) -> None:
        """The turn met no effect at all."""
        if self.effects:
            fail("the turn met effects", self._effects())

    def waits_for(self, effect_key: str) -> Receipt:
        """The turn is blocked on that effect, whose outcome nobody knows. Returns its receipt."""
        receipt = self.receipts.get(effect_key)
        if receipt is None or receipt.receipt_id not in self.result.blocked_on:
            fail(f"the turn does not wait for {effect_key}", [f"status {self.result.status}", *self._effects()])
        return receipt

    def event(self, event_type: str, nth: int = 0) -> SeenEvent:
        """The nth event of that type, from 0."""
        found = [event for event in self.events if event.type == event_type]
        if not -len(found) <= nth < len(found):
            fail(f"there is no event {event_type} at position {nth}, of {len(found)}", self.types)
        return found[nth]

    def happened(self, *event_types: str) -> None:
        """Events of these types, in this order; others may lie between them."""
        left = iter(self.types)
        for position, wanted in enumerate(event_types):
            if wanted not in left:
                after = f" after {event_types[position - 1]}" if position else ""
                fail(f"there is no {wanted}{after}", self.types)

    def _steps(self) -> list[dict[str, JsonValue]]:
        plans = [members_of(event.data) for event in self.events if event.type == "plan.created"]
        return [step for plan in plans for step in cast("list[dict[str, JsonValue]]", plan.get("steps", []))]

    def _said(self) -> list[str]:
        return [] if self.message is None else [f"message {self.message!r}"]

    def _asked(self) -> list[str]:
        asked = self.interaction
        return [] if asked is None else [f"a question of kind {asked.kind}: {asked.goal!r}"]

    def _effects(self) -> list[str]:
        return [self._effect(key, seen) for key, seen in self.effects.items()]

    def _effect(self, key: str, seen: str) -> str:
        receipt = self.receipts.get(key)
        stored = f"; its receipt is {receipt.state} with {shown(receipt.value)}" if receipt is not None else ""
        why = f" ({self.effect_errors[key]})" if seen != "completed" and key in self.effect_errors else ""
        return f"{key}: {seen}{why}{stored}"
