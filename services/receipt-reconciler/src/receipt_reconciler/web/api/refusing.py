"""Whatever goes wrong in a request of the API ends as a problem, and nothing of it is told that is the server's own."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import InfrastructureError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from receipt_reconciler.web.api.problems import Code, ProblemError, problem_response

AGAIN_SECONDS = 2
"""How long a caller waits before they ask an absent database again."""

_MISSING: dict[tuple[str, str], Code] = {
    ("header", "idempotency-key"): "idempotency_key_missing",
    ("header", "if-match"): "if_match_missing",
}
_MOST_ERRORS = 20

logger = logging.getLogger(__name__)


def refuse_with_problems(app: FastAPI) -> None:
    """Give the application its handlers of errors."""
    app.add_exception_handler(ProblemError, _told)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _of_framework)
    app.add_exception_handler(InfrastructureError, _away)
    app.add_exception_handler(Exception, _unexpected)


def unavailable() -> ProblemError:
    """The database does not answer."""
    return ProblemError("unavailable", headers={"Retry-After": str(AGAIN_SECONDS)})


async def _told(_: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return problem_response(error)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    for one in found:
        code = _MISSING.get((str(one["loc"][0]), str(one["loc"][-1]).lower()))
        if code is not None and one["type"] == "missing":
            return problem_response(ProblemError(code))
        if one["type"] == "json_invalid":
            return problem_response(ProblemError("not_json", f"The body is not JSON: {one['ctx']['error']}"))
    errors: list[JsonValue] = [_error(one) for one in found[:_MOST_ERRORS]]
    return problem_response(ProblemError("invalid_request", errors=errors))


def _error(one: dict[str, Any]) -> dict[str, JsonValue]:
    """What was sent is not repeated: it may be a secret."""
    where, place = str(one["loc"][0]), one["loc"][1:]
    detail = str(one["msg"])
    if where == "body":
        return {"pointer": pointer(place), "detail": detail}
    return {where: ".".join(map(str, place)), "detail": detail}


def pointer(place: Sequence[object]) -> str:
    """A JSON pointer."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)


async def _of_framework(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    match error.status_code:
        case 404:
            return problem_response(ProblemError("no_such_route"))
        case 405:
            return problem_response(ProblemError("wrong_method", headers=dict(error.headers or {})))
        case 400:
            return problem_response(ProblemError("not_json"))
        case _:
            logger.error("the framework answered %d: %s", error.status_code, error.detail)
            return problem_response(ProblemError("internal"))


async def _away(_: Request, error: Exception) -> Response:
    logger.warning("the database does not answer: %s", error)
    return problem_response(unavailable())


async def _unexpected(request: Request, error: Exception) -> Response:
    logger.error("%s %s failed", request.method, request.scope.get("path"), exc_info=error)
    return problem_response(ProblemError("internal"))
