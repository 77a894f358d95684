"""The causal tree of a turn: which call of a model, plan, step and effect came under which, and how long each took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from intention_kernel.contracts.event import rfc3339
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.reconciliation.trace_events import Members, Told, listed, members, milliseconds, text

_STEP_ENDS = ("capability.completed", "capability.failed", "capability.skipped", "capability.blocked")
_MODEL_ENDS = {"model.completed": "completed", "model.failed": "failed"}


@dataclass(slots=True)
class _Node:
    """A span from `begun` to `ended`, or a moment, for which both are the same event."""

    kind: str
    name: str | None
    begun: Told
    ended: Told | None = None
    status: str | None = None
    more: Members = field(default_factory=dict)
    children: list[_Node] = field(default_factory=list)

    def document(self, start: datetime | None) -> Members:
        ended = self.ended
        return {
            "kind": self.kind,
            "name": self.name,
            "status": self.status,
            "at": None if self.begun.at is None else rfc3339(self.begun.at),
            "offsetMs": milliseconds(start, self.begun.at),
            "durationMs": None if ended is None else milliseconds(self.begun.at, ended.at),
            "eventId": self.begun.id,
            "sequence": self.begun.sequence,
            "causedBy": self.begun.caused_by,
            "stepId": self.begun.step_id,
            **self.more,
            "data": self.begun.content,
            "result": None if ended is None or ended is self.begun else ended.content,
            "children": [child.document(start) for child in self.children],
        }


class _Tree:
    """Nodes while events come in."""

    def __init__(self) -> None:
        self.top: list[_Node] = []
        self._models: dict[str | None, _Node] = {}
        self._steps: dict[str | None, _Node] = {}
        self._plans: dict[str | None, _Node] = {}

    def add(self, event: Told) -> None:
        match event.type:
            case "model.invoked":
                self._models[event.id] = self._put(_Node("model", text(event.data.get("task")), event))
            case "model.completed" | "model.failed" if event.caused_by in self._models:
                self._end_model(self._models.pop(event.caused_by), event)
            case "plan.created":
                self._plan(event)
            case "step.started":
                self._step(event)
            case "capability.invoked" if event.step_id in self._steps:
                self._steps[event.step_id].more["trigger"] = text(event.data.get("trigger"))
            case kind if kind in _STEP_ENDS and event.step_id in self._steps:
                step = self._steps[event.step_id]
                step.ended, step.status = event, text(event.data.get("status"))
            case "effect.recorded":
                self._effect(event)
            case _:
                name = text(event.data.get("name")) if event.type == "capability.event" else event.type
                self._put(_Node("event", name, event, event))

    def _put(self, node: _Node) -> _Node:
        """Under its step, else under the plan that names the step, else at the top."""
        place = self._steps.get(node.begun.step_id) or self._plans.get(node.begun.step_id)
        (self.top if place is None else place.children).append(node)
        return node

    def _end_model(self, node: _Node, event: Told) -> None:
        node.ended, node.status = event, _MODEL_ENDS[event.type]
        node.more = {"provider": text(event.data.get("provider")), "model": text(event.data.get("model"))}
        node.more["usage"] = {
            name: count for name, count in members(event.data.get("usage")).items() if isinstance(count, int)
        }

    def _plan(self, event: Told) -> None:
        node = _Node("plan", None, event, event)
        self.top.append(node)
        for step in listed(event.data.get("steps")):
            step_id = text(members(step).get("id"))
            if step_id is not None:
                self._plans[step_id] = node

    def _step(self, event: Told) -> None:
        node = _Node("step", text(event.data.get("capabilityId")), event)
        # A step that is begun once more stands beside itself.
        plan = self._plans.get(event.step_id)
        (self.top if plan is None else plan.children).append(node)
        if event.step_id is not None:
            self._steps[event.step_id] = node

    def _effect(self, event: Told) -> None:
        key = text(event.data.get("idempotencyKey"))
        receipt: Members = {"receiptId": text(event.data.get("effectId")), "effectKey": key}
        self._put(_Node("effect", key, event, event, text(event.data.get("status")), receipt))


def tree(events: Sequence[Told], start: datetime | None) -> list[JsonValue]:
    """The nodes at the top, in the order of their events."""
    made = _Tree()
    for event in events:
        made.add(event)
    return [node.document(start) for node in made.top]


def moments(events: Sequence[Told], start: datetime | None) -> list[JsonValue]:
    """Each event for itself: what a Program tells under names of its own has no structure that the kernel knows."""
    return [_Node("event", event.type, event, event).document(start) for event in events]
