"""The queue's changes as server-sent events: a response that ends by itself when the process does, or its reader may not read.

queue   {"receipts": [id], "counts": {word: items}, "complete": bool}; the first only counts
reset   the reader was too slow: read the list anew, and come back
bye     {"reason": "stop" | "access"}: the process ends, or what the stream was opened with is not as it was
: …     a comment while it is quiet
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from intention_kernel.clock import Clock
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.identity.principal import Principal
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from receipt_reconciler.web.watching import Listener, Missed, QueueChanged, Quiet, Stopping, Told, Watcher

HEARTBEAT_SECONDS = 15.0
AGAIN_MS = 500
"""How long a reader waits before it comes back after a farewell."""


@dataclass(frozen=True, slots=True)
class EventStream:
    """One reader's stream. `may_still_read` is asked about once a heartbeat; `too_many` is answered instead where there are."""

    watcher: Watcher
    clock: Clock
    who: Principal
    may_still_read: Callable[[], Awaitable[bool]]
    too_many: Response

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, until it ends or its reader leaves; the reader is forgotten either way."""
        async with self.watcher.listening(self.who.user, self.who.scope) as listener:
            response = self.too_many
            if listener is not None:
                headers = {"X-Accel-Buffering": "no"}  # a proxy in between passes each event on as it comes
                response = StreamingResponse(self._events(listener), headers=headers, media_type="text/event-stream")
            await response(scope, receive, send)

    async def _events(self, listener: Listener) -> AsyncIterator[bytes]:
        yield b": welcome\n\n"
        heartbeat_seconds = HEARTBEAT_SECONDS
        asked_at = self.clock.monotonic_seconds()
        while True:
            told = await listener.next(self.watcher.stopping, heartbeat_seconds)
            now = self.clock.monotonic_seconds()
            if not isinstance(told, Stopping) and now - asked_at >= heartbeat_seconds:
                if not await self.may_still_read():
                    yield _event("bye", {"reason": "access"}, AGAIN_MS)
                    return
                asked_at = now
            yield _sent(told)
            if isinstance(told, Missed | Stopping):
                return


def _sent(told: Told) -> bytes:
    match told:
        case QueueChanged(receipts=receipts, counts=counts, complete=complete):
            return _event("queue", {"receipts": [*receipts], "counts": dict(counts), "complete": complete})
        case Missed():
            return _event("reset", {"reason": "slow"}, AGAIN_MS)
        case Stopping():
            return _event("bye", {"reason": "stop"}, AGAIN_MS)
        case Quiet():
            return b": quiet\n\n"


def _event(name: str, data: JsonValue, retry_ms: int | None = None) -> bytes:
    again = b"" if retry_ms is None else b"retry: %d\n" % retry_ms
    return b"event: %s\n%sdata: %s\n\n" % (name.encode(), again, dumps(data))
