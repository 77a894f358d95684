"""One request, one operation: its Idempotency-Key becomes the operation's id, so that a repeat is known where it is written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.ids import derived_id
from starlette.requests import Request

from receipt_reconciler.web.api.problems import ProblemError

PATTERN = "^[!-~]{1,200}$"
_HALF = 16
_KEY = re.compile(PATTERN.strip("^$"))


@dataclass(frozen=True, slots=True)
class Key:
    """A key as its caller sent it, with the method and path that it was sent to: another path is another operation."""

    text: str
    route: str

    def operation(self, user: str) -> str:
        """The operation's id, for whatever compares the content itself."""
        return derived_id("api", user, self.route, self.text)

    def decision(self, user: str, content: JsonValue) -> str:
        """The same, where nothing but the id is compared: its second half names the content."""
        return self.operation(user)[:_HALF] + derived_id("content", dumps(content).decode())[:_HALF]

    def decision_uuid(self, user: str, content: JsonValue) -> UUID:
        """The same as a UUID."""
        return UUID(self.decision(user, content))


def refuse_reuse(made: Iterable[str], decision_id: str) -> None:
    """Raise where one of these ids is of the same key and other content."""
    if any(one[:_HALF] == decision_id[:_HALF] and one != decision_id for one in made if len(one) == 2 * _HALF):
        raise reused()


def reused() -> ProblemError:
    """The key names another request."""
    return ProblemError("idempotency_key_reused")


_Needed = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=PATTERN,
        description="1 to 200 visible ASCII characters. The same key with the same content is the same operation.",
        examples=["7d0f3f1e-claim"],
    ),
]


async def _key(request: Request, key: _Needed) -> Key:
    return Key(key, f"{request.method} {request.scope['path']}")


IdempotencyKey = Annotated[Key, Depends(_key)]


def key_of(request: Request) -> Key:
    """The key, of a route that needs one only sometimes. Raises ProblemError where there is none, or one that is no key."""
    text = request.headers.get("idempotency-key")
    if text is None:
        raise ProblemError("idempotency_key_missing")
    if not _KEY.fullmatch(text):
        detail = "It has 1 to 200 visible ASCII characters."
        raise ProblemError("invalid_request", errors=[{"header": "Idempotency-Key", "detail": detail}])
    return Key(text, f"{request.method} {request.scope['path']}")
