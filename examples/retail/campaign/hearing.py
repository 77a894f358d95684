"""What the topic tells of every thread while the campaign runs: how each turn ended, and the issues it told."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from intention_kernel.client import Client, Event
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import InfrastructureError


@dataclass(frozen=True, slots=True)
class Heard:
    """A turn that is over. `status` is `completed`, `blocked` or `failed`.

    `issues` are the codes of the issues that capabilities told, `ran` the capabilities, in order.
    """

    turn_id: str
    status: str
    blocked_on: tuple[str, ...]
    interaction_id: str | None
    issues: tuple[str, ...]
    ran: tuple[str, ...]
    detail: str = ""


@dataclass(slots=True)
class _Thread:
    turns: list[Heard] = field(default_factory=list)
    issues: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    ran: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Hearing:
    """Made by `hearing`: every committed event once and in order, by thread."""

    def __init__(self) -> None:
        self._threads: dict[str, _Thread] = defaultdict(_Thread)
        self._failure: InfrastructureError | None = None
        self.problems: list[str] = []
        self.completed = 0
        self.blocked = 0

    async def turn(self, thread_id: str, after: int, fits: Callable[[Heard], bool]) -> tuple[int, Heard]:
        """The first turn of the thread at place `after` or later that fits, and the place behind it.

        Waits until there is one. Raises InfrastructureError where the topic cannot be read any more.
        """
        thread = self._threads[thread_id]
        while True:
            if self._failure is not None:
                raise self._failure
            thread.changed.clear()
            for place in range(after, len(thread.turns)):
                if fits(thread.turns[place]):
                    return place + 1, thread.turns[place]
            after = max(after, len(thread.turns))
            await thread.changed.wait()

    async def listen(self, client: Client) -> None:
        """Runs until cancelled."""
        try:
            async for item in client.events(from_beginning=True):
                if isinstance(item, Event):
                    self._take(item)
                else:
                    self.problems.append(f"the topic has {item}")
        except InfrastructureError as error:
            self._failure = error
            for thread in self._threads.values():
                thread.changed.set()

    def _take(self, event: Event) -> None:
        thread, data = self._threads[event.thread_id], _members(event.document.get("data"))
        match event.type:
            case "capability.failed":
                thread.issues[event.turn_id].append(str(_members(data.get("issue")).get("code")))
            case "capability.invoked":
                thread.ran[event.turn_id].append(str(data.get("capabilityId")))
            case "turn.completed" | "turn.failed":
                heard = self._heard(thread, event, data)
                thread.turns.append(heard)
                thread.changed.set()
                self.completed += 1
                self.blocked += heard.status == "blocked"

    def _heard(self, thread: _Thread, event: Event, data: Mapping[str, JsonValue]) -> Heard:
        blocked_on = data.get("blockedOn")
        asked = _members(_members(data.get("response")).get("interaction")).get("id")
        return Heard(
            turn_id=event.turn_id,
            status="failed" if event.type == "turn.failed" else str(data.get("status")),
            blocked_on=tuple(map(str, blocked_on)) if isinstance(blocked_on, list) else (),
            interaction_id=asked if isinstance(asked, str) else None,
            issues=tuple(thread.issues.pop(event.turn_id, ())),
            ran=tuple(thread.ran.pop(event.turn_id, ())),
            detail=f"{data.get('reason')}: {data.get('detail')}" if event.type == "turn.failed" else "",
        )


@asynccontextmanager
async def hearing(client: Client) -> AsyncIterator[Hearing]:
    """Listens as long as the body runs."""
    heard = Hearing()
    listening = asyncio.create_task(heard.listen(client))
    try:
        yield heard
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening


def _members(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, Mapping) else {}
