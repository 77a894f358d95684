"""The OpenAPI document: the framework's, with every problem, permission and header of ours in it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from receipt_reconciler.web.api.problems import MEDIA_TYPE, PROBLEMS, TYPE_PREFIX
from receipt_reconciler.web.api.shapes import ProblemShape

Schema = dict[str, Any]

_ALWAYS = (400, 401, 403, 404, 422, 429, 500, 503)
_WITH_BODY = (409, 413, 415)
_WITH_IF_MATCH = (412, 428)
_KEY_SOMETIMES = {"decideReceipt", "decideContest", "redrive"}
_KEY_PARAMETER: Schema = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Needed unless `dryRun`: 1 to 200 visible ASCII characters; the same key with the same content is the same "
    "operation",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]{1,200}$"},
}
_TAGS = {
    "receipts": "What waits for people",
    "work": "Before a decision",
    "decisions": "What became of an effect",
    "proposals": "Decisions that wait for a second person",
    "conversations": "Threads, turns and events",
    "rejected": "Turns that were set aside, and requests that were rejected",
    "audit": "Who did what",
    "people": "Users, roles and tokens",
    "rules": "When a second person is asked for",
    "stream": "What changes, as it does",
}


def openapi_document(app: FastAPI, routes: Iterable[APIRoute]) -> Schema:
    """OpenAPI 3.1; `routes` are those of the application."""
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        tags=[{"name": name, "description": words} for name, words in _TAGS.items()],
    )
    components = document["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    components["schemas"]["Problem"] = ProblemShape.model_json_schema()
    components["responses"] = dict(_problem_responses())
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "A token of `intention tokens` or `issueToken`"}
    }
    document["security"] = [{"bearer": []}]
    permissions = {str(route.operation_id): permission_of(route) for route in routes}
    for operation in _operations(document):
        _complete(operation, permissions[operation["operationId"]])
    return document


def openapi_text(app: FastAPI, routes: Iterable[APIRoute]) -> str:
    """The committed file's text."""
    return json.dumps(openapi_document(app, routes), indent=2, ensure_ascii=False) + "\n"


def _operations(document: Schema) -> Iterator[Schema]:
    for path in document["paths"].values():
        yield from path.values()


def _complete(operation: Schema, permission: str | None) -> None:
    """Its permission, the header that it needs sometimes, and the problems that it may end in."""
    operation["x-permission"] = permission
    if operation["operationId"] in _KEY_SOMETIMES:
        operation["parameters"].append(_KEY_PARAMETER)
    names = {parameter["name"].lower() for parameter in operation.get("parameters", [])}
    statuses = [*_ALWAYS, *(_WITH_BODY if "requestBody" in operation else ())]
    statuses += _WITH_IF_MATCH if "if-match" in names else ()
    for status in sorted(statuses):
        operation["responses"][str(status)] = {"$ref": f"#/components/responses/Problem{status}"}


def _problem_responses() -> Iterator[tuple[str, Schema]]:
    by_status: dict[int, list[str]] = defaultdict(list)
    for code, problem in PROBLEMS.items():
        by_status[problem.status].append(code)
    for status, codes in sorted(by_status.items()):
        first = PROBLEMS[codes[0]]  # type: ignore[index]
        example = {
            "type": f"{TYPE_PREFIX}{codes[0]}",
            "title": first.title,
            "status": status,
            "detail": f"{first.title}.",
            "code": codes[0],
            "hint": first.hint,
            "retryable": first.retryable,
        }
        yield (
            f"Problem{status}",
            {
                "description": "; ".join(f"`{code}`: {PROBLEMS[code].title}" for code in codes),  # type: ignore[index]
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}},
            },
        )


def permission_of(route: APIRoute) -> str | None:
    """The permission that a route's caller needs; None: whoever is recognised."""
    for dependant in route.dependant.dependencies:
        marked = getattr(dependant.call, "__dict__", {})
        if "permission" in marked:
            permission: str | None = marked["permission"]
            return permission
    raise LookupError(f"{route.path} asks for nobody")
