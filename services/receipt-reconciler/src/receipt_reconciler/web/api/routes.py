"""How routes of the API are made: under /v1, with bodies read by the one codec, and their permission named."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from intention_kernel.contracts.json_codec import loads
from intention_kernel.errors import JsonError
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response


class _ExactRequest(Request):
    """A request whose body is read as all JSON here is: no member twice, no NaN."""

    async def json(self) -> Any:  # noqa: ANN401 - as in the class it stands for
        try:
            return loads(await self.body())
        except JsonError as error:
            raise json.JSONDecodeError(str(error), "", 0) from None


class ExactRoute(APIRoute):
    """A route that reads its body so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def exactly(request: Request) -> Response:
            return await handle(_ExactRequest(request.scope, request.receive))

        return exactly


class _IdConvertor(Convertor[str]):
    """`{thread:id}`: a segment of the path that `entry` made, as the id that its caller meant."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return value.replace("%2F", "/").replace("%25", "%")

    def to_string(self, value: str) -> str:
        return value.replace("%", "%25").replace("/", "%2F")


register_url_convertor("id", _IdConvertor())


def router_of(tag: str) -> APIRouter:
    """A router of routes that read so; `tag` groups them in the OpenAPI document."""
    return APIRouter(prefix="/v1", tags=[tag], route_class=ExactRoute, redirect_slashes=False)
