"""A server on loopback that speaks the wire formats of model providers, and misbehaves on request."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

ECHO = "what you sent was: "
"""Errors of the server repeat the key and the message, as a careless provider would."""


@dataclass(slots=True)
class Reply:
    """How a request is answered: `text` in the provider's form, or a kind of misbehaviour, or an HTTP status."""

    kind: str = "answer"
    text: str = '{"mode": "ok"}'
    retry_after: str | None = None


@dataclass(slots=True)
class WireServer:
    """`replies` are used up one by one; the last one stays, unless `reply_to` decides. `bodies` and `keys` are what arrived."""

    url: str = ""
    replies: list[Reply] = field(default_factory=lambda: [Reply()])
    reply_to: Callable[[dict[str, Any]], Reply] | None = None
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: Request) -> Response:
        body = await request.json()
        self.bodies.append(body)
        self.keys.append(_key(request))
        self.arrived.set()
        reply = self._next_reply(body)
        shape = _shape(request.url.path)
        match reply.kind:
            case "slow":
                await self.closing.wait()
                return Response(status_code=503)
            case "trickle":
                return StreamingResponse(self._trickle(), media_type="application/json")
            case "cut off":
                return _cut_off(json.dumps(SHAPES[shape](reply, body)))
            case "no json":
                return Response("<html>gateway</html>", media_type="text/html")
            case kind if kind.isdigit():
                return _error(int(kind), reply, f"{ECHO}{_key(request)} {json.dumps(body)}", shape)
        return JSONResponse(SHAPES[shape](reply, body))

    async def _trickle(self) -> AsyncIterator[bytes]:
        """White space before an answer that never comes: no pause is long enough for a client to give up."""
        while not self.closing.is_set():
            yield b" "
            with suppress(TimeoutError):
                await asyncio.wait_for(self.closing.wait(), 0.02)

    def _next_reply(self, body: dict[str, Any]) -> Reply:
        if self.reply_to is not None:
            return self.reply_to(body)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def _key(request: Request) -> str:
    headers = request.headers
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or headers.get("authorization", "")


def _shape(path: str) -> str:
    if path.endswith("/chat/completions"):
        return "openai"
    return "anthropic" if path.endswith("/messages") else "google"


def _error(status: int, reply: Reply, message: str, shape: str) -> Response:
    headers = {"retry-after": reply.retry_after} if reply.retry_after is not None else {}
    bodies: dict[str, dict[str, Any]] = {
        "openai": {"error": {"message": message, "type": "some_error", "code": None}},
        "anthropic": {"type": "error", "error": {"type": "api_error", "message": message}},
        "google": {"error": {"code": status, "message": message, "status": "FAILED"}},
    }
    return JSONResponse(bodies[shape], status_code=status, headers=headers)


def _cut_off(text: str) -> Response:
    async def half() -> AsyncIterator[bytes]:
        yield text[: len(text) // 2].encode()
        raise ConnectionResetError("cut off")

    return StreamingResponse(half(), media_type="application/json")


def _openai(reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    finish = "stop"
    if reply.kind == "refusal":
        message = {"role": "assistant", "content": None, "refusal": "I would rather not"}
    elif reply.kind == "empty":
        message["content"] = ""
    elif reply.kind == "at limit":
        message["content"], finish = reply.text[:5], "length"
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": f"{body['model']}-dated",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def _anthropic(reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}]
    stop = "end_turn"
    if reply.kind == "refusal":
        content, stop = [], "refusal"
    elif reply.kind == "empty":
        content = []
    elif reply.kind == "at limit":
        content, stop = [{"type": "text", "text": reply.text[:5]}], "max_tokens"
    elif body.get("tools"):
        content, stop = (
            [{"type": "tool_use", "id": "t1", "name": body["tools"][0]["name"], "input": json.loads(reply.text)}],
            "tool_use",
        )
    return {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": f"{body['model']}-dated",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }


def _google(reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": reply.text}]
    finish = "STOP"
    if reply.kind == "refusal":
        parts, finish = [], "SAFETY"
    elif reply.kind == "empty":
        parts = []
    elif reply.kind == "at limit":
        parts, finish = [{"text": reply.text[:5]}], "MAX_TOKENS"
    elif body.get("tools"):
        name = body["tools"][0]["functionDeclarations"][0]["name"]
        parts = [{"functionCall": {"name": name, "args": json.loads(reply.text)}}]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18},
        "modelVersion": "gemini-dated",
        "responseId": "1",
    }


SHAPES: dict[str, Callable[[Reply, dict[str, Any]], dict[str, Any]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "google": _google,
}


@asynccontextmanager
async def wire_server(port: int = 0) -> AsyncIterator[WireServer]:
    """A running server, on a free port where none is given; it is gone when the block ends, slow answers included."""
    server = WireServer()
    app = Starlette(routes=[Route("/{path:path}", server.handle, methods=["POST"])])
    listening = socket.create_server(("127.0.0.1", port))
    server.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    running = uvicorn.Server(
        uvicorn.Config(app, log_config=None, log_level="critical", lifespan="off", timeout_graceful_shutdown=2)
    )
    task = asyncio.create_task(running.serve(sockets=[listening]))
    try:
        yield server
    finally:
        server.closing.set()
        running.should_exit = True
        await task
        listening.close()
