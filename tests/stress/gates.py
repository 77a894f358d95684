"""Gates: every statement and every call of a runner waits here until the schedule lets it go on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from intention_kernel.errors import InfrastructureError

_LOOK_AGAIN_SECONDS = 0.02


class CutOffError(InfrastructureError):
    """The runner is dead: nothing of it reaches anybody any more."""


@dataclass(slots=True)
class Parked:
    """One thing that a runner wants to do. `kind` is statement, read, send, reply or model; `request` a statement's values."""

    kind: str
    name: str
    subject: str
    run: Callable[[], Awaitable[Any]]
    future: asyncio.Future[Any]
    request: object

    def __str__(self) -> str:
        return f"{self.name}({self.subject})"


@dataclass(slots=True)
class Gates:
    """The gates of one life of a runner."""

    alive: bool = True
    parked: list[Parked] = field(default_factory=list)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(
        self,
        kind: str,
        name: str,
        subject: str,
        run: Callable[[], Awaitable[Any]],
        request: object = None,
    ) -> Any:
        """Wait for the schedule, which runs `run` and hands over what it answers."""
        if not self.alive:
            raise asyncio.CancelledError  # whoever asks again after the end of its process has no say in it
        parked = Parked(kind, name, subject, run, asyncio.get_running_loop().create_future(), request)
        self.parked.append(parked)
        self._moved.set()
        try:
            return await parked.future
        finally:
            if parked in self.parked:
                self.parked.remove(parked)

    def cut(self) -> None:
        """Kill: whatever waits ends with an error that nobody hears."""
        self.alive = False
        for parked in tuple(self.parked):
            if not parked.future.done():
                parked.future.set_exception(CutOffError("killed"))

    def answer(self, parked: Parked, answer: Any) -> None:
        """Let it go on with this answer."""
        self.parked.remove(parked)
        parked.future.set_result(answer)

    def fail(self, parked: Parked, error: Exception) -> None:
        """Let it go on with this error."""
        self.parked.remove(parked)
        parked.future.set_exception(error)

    async def rest(self, task: asyncio.Task[Any] | None, kept: Callable[[], int], seconds: float = 20.0) -> None:
        """Return when the task has ended or waits at a gate, and each of the `kept` answers does, too."""
        deadline = asyncio.get_running_loop().time() + seconds
        while len(self.parked) < _is_running(task) + kept():
            self._moved.clear()
            moved = asyncio.ensure_future(self._moved.wait())
            left = deadline - asyncio.get_running_loop().time()
            # Nothing tells of the end of a kept answer's recording.
            bound = min(left, _LOOK_AGAIN_SECONDS) if kept() else left
            waits: set[asyncio.Future[Any]] = {moved} if task is None or task.done() else {moved, task}
            await asyncio.wait(waits, timeout=max(bound, 0), return_when=asyncio.FIRST_COMPLETED)
            moved.cancel()
            assert left > 0, "a runner neither went on nor waited"


def _is_running(task: asyncio.Task[Any] | None) -> bool:
    return task is not None and not task.done()
