"""One call of a model gateway inside the turn's deadline, and what the journal keeps of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, cast

from intention_kernel.clock import Clock
from intention_kernel.containment import contained
from intention_kernel.contracts.json_codec import JsonValue, check
from intention_kernel.errors import JsonError, ModelGatewayError
from intention_kernel.ports.model_gateway import ModelGateway, ModelRequest, ModelResult

COMMIT_MARGIN_SECONDS: Final = 0.5
"""A model has that much less than the turn, so that a turn whose last model is slow can still tell what it did."""

_GRACE_SECONDS: Final = 0.1
"""For a gateway to clean up when it is cancelled; after it the gateway is left to itself."""

STRUCTURAL: Final = frozenset({"MODEL_EMPTY_RESPONSE", "MODEL_JSON_INVALID"})
"""An answer that is no JSON is an answer all the same: it is recorded, and may use the one repair."""

Data = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call ended, as the journal keeps it: a value, or the code of a structural failure."""

    document: Data

    @property
    def failure_code(self) -> str | None:
        """Set where there was no JSON in the answer."""
        return cast("str | None", self.document.get("failureCode"))

    @property
    def value(self) -> JsonValue:
        return self.document.get("value")


@dataclass(frozen=True, slots=True)
class ModelCall:
    """Asks a gateway once. `end_seconds` is the turn's deadline on the monotonic clock."""

    gateway: ModelGateway
    clock: Clock
    end_seconds: float

    @property
    def left_seconds(self) -> float:
        """What a model may take now."""
        return self.end_seconds - COMMIT_MARGIN_SECONDS - self.clock.monotonic_seconds()

    async def end(self, request: ModelRequest) -> JsonValue:
        """The document of a CallEnd. Raises ModelGatewayError: `MODEL_TIMEOUT` at the deadline, `UNEXPECTED_ERROR` for
        what is no error of a gateway, without its words, which may hold secrets."""
        began = self.clock.monotonic_seconds()
        try:
            result = await self._result(request)
            check(result.value)
        except ModelGatewayError as error:
            if error.code not in STRUCTURAL:
                raise
            return {"failureCode": error.code, "detail": error.detail}
        except JsonError:
            return {"failureCode": "MODEL_JSON_INVALID", "detail": "the gateway's value is not JSON"}
        document: Data = {"value": result.value, "provider": result.provider, "model": result.model}
        document["usage"] = _usage(result)
        document["durationMs"] = round((self.clock.monotonic_seconds() - began) * 1000)
        return document

    async def _result(self, request: ModelRequest) -> ModelResult:
        if request.timeout_seconds <= 0:
            raise _too_late()
        task = asyncio.get_running_loop().create_task(self._asked(request))
        try:
            done, _ = await asyncio.wait({task}, timeout=request.timeout_seconds)
        except asyncio.CancelledError:
            await _leave(task)
            raise
        if not done:
            await _leave(task)
            raise _too_late()
        return _outcome(task)

    async def _asked(self, request: ModelRequest) -> ModelResult:
        # A gateway of an application may raise before it awaits anything, and anything at all.
        return await contained(lambda: self.gateway.invoke(request))


def _too_late() -> ModelGatewayError:
    return ModelGatewayError("MODEL_TIMEOUT", "the turn's deadline leaves no time to wait for it", retryable=True)


def _outcome(task: asyncio.Task[ModelResult]) -> ModelResult:
    if task.cancelled():
        raise ModelGatewayError("UNEXPECTED_ERROR", "the gateway cancelled itself")
    error = task.exception()
    if error is None and isinstance(task.result(), ModelResult):
        return task.result()
    if isinstance(error, ModelGatewayError):
        raise error
    what = type(task.result()).__name__ if error is None else type(error).__name__
    raise ModelGatewayError("UNEXPECTED_ERROR", what)


async def _leave(task: asyncio.Task[ModelResult]) -> None:
    """Cancel a gateway; one that goes on is left to itself, and what it raises is nobody's."""
    task.cancel()
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    await asyncio.wait({task}, timeout=_GRACE_SECONDS)


def _usage(result: ModelResult) -> JsonValue:
    counts: Data = {"inputTokens": result.usage.input_tokens, "outputTokens": result.usage.output_tokens}
    return {name: count for name, count in counts.items() if count is not None} or None
