"""How routes of the API are made: under /v1, with bodies read by the one codec, and no parameter that they do not declare."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Collection, Coroutine
from typing import Any

from fastapi import APIRouter
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute
from intention_kernel.contracts.json_codec import loads
from intention_kernel.errors import JsonError
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from receipt_reconciler.web.api.problems import ProblemError

_LONGEST_NAME_TOLD = 100


class _ExactRequest(Request):
    """A request whose body is read as all JSON here is: no member twice, no NaN."""

    async def json(self) -> Any:  # noqa: ANN401 - as in the class it stands for
        try:
            return loads(await self.body())
        except JsonError as error:
            raise json.JSONDecodeError(str(error), "", 0) from None


class ExactRoute(APIRoute):
    """A route that reads its body so, and refuses a query that it does not know whole."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        taken = get_flat_params(self.dependant)
        declared = frozenset(one.alias for one in taken if isinstance(one.field_info, Query))

        async def exactly(request: Request) -> Response:
            refuse_unknown(request, declared)
            return await handle(_ExactRequest(request.scope, request.receive))

        return exactly


def refuse_unknown(request: Request, declared: Collection[str]) -> None:
    """Raise ProblemError unless every parameter of the query is declared, and given once.

    What is ignored would be believed: `?dryrun=true` is a decision that its sender takes for a trial.
    """
    seen = set[str]()
    for name, _ in request.query_params.multi_items():
        if name not in declared:
            raise _unknown(name, declared)
        if name in seen:
            raise ProblemError("invalid_request", errors=[{"query": name, "detail": "it is given more than once"}])
        seen.add(name)


def _unknown(name: str, declared: Collection[str]) -> ProblemError:
    by_letters = {one.lower(): one for one in declared}
    near = difflib.get_close_matches(name.lower(), list(by_letters), n=1, cutoff=0.5)
    told = name[:_LONGEST_NAME_TOLD]
    suggestion = by_letters[near[0]] if near else None
    detail = f"There is no parameter `{told}` here" + (f"; `{suggestion}` is near." if suggestion else ".")
    return ProblemError("unknown_parameter", detail, parameter=told, suggestion=suggestion)


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
