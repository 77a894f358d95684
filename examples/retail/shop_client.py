"""What the agent knows of the shop: a small HTTP client that never tries anything twice by itself.

A lost reply or a time-out is the caller's to judge: it propagates as an `httpx.TransportError` and proves nothing about
the write. So does every status that the shop does not promise, 500 among them, as an `httpx.HTTPStatusError`, and every
reply that is not the shop's, as a `pydantic.ValidationError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self
from urllib.parse import quote

import httpx
from intention_kernel.failpoints import failpoint
from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from examples.retail.records import Changes


@with_config(ConfigDict(extra="forbid"))
class ShopOutcome(TypedDict):
    """What a write did; the same bytes at every repeat and every lookup."""

    key: str
    operation: str
    reference: str
    fingerprint: str
    appliedAt: str
    result: JsonValue


class LedgerMember(TypedDict):
    """One effect that happened at the shop; sequences count from 1 in the order of the effects, over all worlds."""

    sequence: int
    world: str
    key: str
    operation: str
    kwargs: dict[str, JsonValue]
    fingerprint: str
    reference: str
    appliedAt: str


class _Answer(TypedDict):
    result: JsonValue


class _Failure(TypedDict):
    code: str
    message: str


_OUTCOME = TypeAdapter(ShopOutcome)
_ANSWER = TypeAdapter(_Answer)
_CHANGES = TypeAdapter(Changes)
_LEDGER = TypeAdapter(list[LedgerMember])
_FAULTS = TypeAdapter(dict[str, JsonValue])
_FAILURE = TypeAdapter(_Failure)


class ShopError(Exception):
    """The shop answered and said no: nothing was changed by this request."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class ShopRefused(ShopError):
    """The shop's rules do not allow it (422)."""


class ShopConflict(ShopError):
    """The key belongs to another payload (409)."""


class ShopUnavailable(ShopError):
    """The shop took nothing in at the moment (503, code `unavailable`); the same request may be sent again."""


_ERRORS: Mapping[int, type[ShopError]] = {422: ShopRefused, 409: ShopConflict}


class ShopClient:
    """One connection pool to one shop; an async context manager."""

    def __init__(self, base_url: str, *, timeout_seconds: float = 10) -> None:
        # trust_env off: a proxy between us and the shop would answer in its name.
        self._http = httpx.AsyncClient(base_url=base_url, timeout=timeout_seconds, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def write(self, world: str, key: str, operation: str, kwargs: Mapping[str, JsonValue]) -> ShopOutcome:
        """Apply once per key. Raises a ShopError where nothing changed; httpx errors where the outcome is unknown."""
        await failpoint("runner.before_send")
        headers = {"Idempotency-Key": _encoded(key)}
        return _OUTCOME.validate_json(await self._post(world, operation, kwargs, headers))

    async def read(self, world: str, operation: str, kwargs: Mapping[str, JsonValue]) -> JsonValue:
        """The answer of a read in that world. Raises ShopRefused where the record does not exist."""
        return _ANSWER.validate_json(await self._post(world, operation, kwargs, {}))["result"]

    async def find(self, world: str, key: str) -> ShopOutcome | None:
        """What was applied under that key, None where nothing is at this moment."""
        response = await self._http.get(f"/operations/{_encoded(key)}", headers=_in(world))
        if response.status_code == 404 and _failure(response)["code"] == "absent":
            return None
        return _OUTCOME.validate_json(response.raise_for_status().content)

    async def changes(self, world: str) -> Changes:
        """Every record of that world that differs from the files."""
        response = await self._http.get(f"/worlds/{_encoded(world)}/changes")
        return _CHANGES.validate_json(response.raise_for_status().content)

    async def ledger(self) -> list[LedgerMember]:
        """Every effect that ever happened in any world."""
        return _LEDGER.validate_json((await self._http.get("/ledger")).raise_for_status().content)

    async def turn_faults(self, switches: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Turn the switches that are named; returns all of them, and how often each has struck."""
        response = await self._http.post("/faults", json=dict(switches))
        return _FAULTS.validate_json(response.raise_for_status().content)

    async def _post(
        self, world: str, operation: str, kwargs: Mapping[str, JsonValue], headers: Mapping[str, str]
    ) -> bytes:
        path = f"/operations/{_encoded(operation)}"
        response = await self._http.post(path, json=dict(kwargs), headers={**_in(world), **headers})
        if (error := _error(response)) is not None:
            raise error
        return response.raise_for_status().content


def _in(world: str) -> dict[str, str]:
    return {"X-World": _encoded(world)}


def _encoded(name: str) -> str:
    if name in {".", ".."}:
        raise ValueError(f"{name!r} cannot be a key: in a URL it is a step between folders, even percent-encoded")
    return quote(name, safe="")


def _error(response: httpx.Response) -> ShopError | None:
    kind = _ERRORS.get(response.status_code)
    if kind is not None:
        return kind(**_failure(response))
    # A 503 by anybody else, a proxy say, promises nothing.
    if response.status_code == 503 and _is_unavailable(response):
        return ShopUnavailable(**_failure(response))
    return None


def _is_unavailable(response: httpx.Response) -> bool:
    try:
        return _failure(response)["code"] == "unavailable"
    except ValidationError:
        return False


def _failure(response: httpx.Response) -> _Failure:
    return _FAILURE.validate_json(response.content)
