"""The route of the stream of changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from intention_kernel.errors import InfrastructureError
from intention_kernel.identity.principals import principal_of_token
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from receipt_reconciler.web.api.callers import Caller, needs
from receipt_reconciler.web.api.problems import ProblemError, problem_response
from receipt_reconciler.web.api.routes import router_of
from receipt_reconciler.web.event_stream import EventStream

router: APIRouter = router_of("stream")


class _Streaming(Response):
    """A response that is an event stream."""

    def __init__(self, stream: EventStream) -> None:
        super().__init__()
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._stream.answer(scope, receive, send)


@router.get(
    "/stream",
    operation_id="streamQueue",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "`queue` {receipts, counts, complete}, `reset` and `bye` {reason}; a comment while it is quiet",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }
    },
)
async def stream(caller: Annotated[Caller, needs("receipts:read")]) -> Response:
    """What changes in the queue, within your reach: `queue` has the ids of receipts whose items changed, and how many there are.

    The first event only counts. `reset`: you were too slow; read the list anew, and come back. `bye`: the server stops, or you
    may no longer read; come back after `retry`.
    """

    async def may_still_read() -> bool:
        """A token is revoked, and a reach changed, for streams too."""
        try:
            who = await principal_of_token(caller.desk.identity, caller.bearer)
        except InfrastructureError:
            return True
        return who is not None and who.may("receipts:read") and who.scope == caller.who.scope

    too_many = problem_response(ProblemError("too_many_streams", headers={"Retry-After": "10"}))
    desk = caller.desk
    return _Streaming(EventStream(desk.watcher, desk.clock, caller.who, may_still_read, too_many))
