"""What every request of the API passes before it is routed: a bounded body of JSON, and ids that hold slashes."""

from __future__ import annotations

from urllib.parse import quote_from_bytes, unquote_to_bytes

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from receipt_reconciler.web.api.problems import ProblemError, problem_response

LONGEST_BODY_BYTES = 262_144
_PRINTABLE = bytes(range(0x21, 0x7F)).decode()


class Entry:
    """ASGI middleware: reads the body up to its bound, and gives the router a path whose segments are still apart."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)  # there is no route for it, and it is refused
            return
        try:
            body = await _body(Headers(scope=scope), receive)
        except ProblemError as problem:
            await problem_response(problem)(scope, receive, send)
            return
        except _GoneError:
            return
        await self._app(routed(scope), _again(body, receive), send)


class _GoneError(Exception):
    """The caller left before the body was whole."""


async def _body(headers: Headers, receive: Receive) -> bytes:
    declared = headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > LONGEST_BODY_BYTES:
        raise _too_large()
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _GoneError
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LONGEST_BODY_BYTES:
            raise _too_large()
    if body and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ProblemError("not_json_type")
    return bytes(body)


def _too_large() -> ProblemError:
    """What is left of the body is not read: the connection ends."""
    return ProblemError("too_large", headers={"Connection": "close"})


def _again(body: bytes, receive: Receive) -> Receive:
    """The body that was read, then whatever comes: that the caller left."""
    told = False

    async def receiving() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


def routed(scope: Scope) -> Scope:
    """The scope as the routers read it: segments of the path still apart, and a query of ASCII alone, whatever bytes came."""
    raw = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogatepass")
    query = quote_from_bytes(scope.get("query_string", b""), _PRINTABLE).encode()
    return {**scope, "path": routed_path(raw), "query_string": query, "root_path": ""}


def routed_path(raw_path: bytes) -> str:
    """Each segment decoded, with the slashes that are part of it written as %2F again: `a%2Fb` is one id, not two."""
    return "/".join(_segment(segment) for segment in raw_path.split(b"/"))


def _segment(raw: bytes) -> str:
    text = unquote_to_bytes(raw).decode("utf-8", "replace")
    return text.replace("%", "%25").replace("/", "%2F")
