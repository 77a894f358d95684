"""`/live`: the changes of the queue as server-sent events, to whoever is signed in."""

from __future__ import annotations

from intention_kernel.errors import InfrastructureError
from intention_kernel.identity.principals import principal_of_session
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.sessions import secret_of
from receipt_reconciler.web.event_stream import EventStream


class _Streaming(Response):
    """A response that is an event stream."""

    def __init__(self, stream: EventStream) -> None:
        super().__init__()
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._stream.answer(scope, receive, send)


async def live(ask: Ask) -> Response:
    """It ends when the session does, or what is within reach changes."""
    desk, secret = ask.desk, secret_of(ask.request)

    async def may_still_read() -> bool:
        try:
            who = None if secret is None else await principal_of_session(desk.identity, secret)
        except InfrastructureError:
            return True
        return who is not None and who.may("receipts:read") and who.scope == ask.who.scope

    too_many = PlainTextResponse("too many open streams", 429, {"Retry-After": "10"})
    return _Streaming(EventStream(desk.watcher, desk.clock, ask.who, may_still_read, too_many))
