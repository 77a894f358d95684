"""A provider behind the port: one request, answered in JSON or failed in a stable code, within its time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from pydantic_ai.direct import model_request
from pydantic_ai.models import Model

from intention_kernel.clock import SystemClock
from intention_kernel.errors import ModelGatewayError
from intention_kernel.ids import jittered_seconds
from intention_kernel.models.providers.clients import KEYLESS, KINDS, ModelMaker, http_client
from intention_kernel.models.providers.failures import asked_to_wait, gateway_error, was_not_sent
from intention_kernel.models.providers.messages import messages_of, parameters_of, result_of, settings_of
from intention_kernel.models.providers.schemas import answer_schema
from intention_kernel.ports.model_gateway import ModelRequest, ModelResult

MAX_TRIES = 4
FIRST_PAUSE_SECONDS = 0.2
SHORTEST_TRY_SECONDS = 0.05
"""Less than this is no time for another try."""

_clock = SystemClock()


@dataclass(frozen=True, slots=True)
class _Failure:
    """A try that failed; `pause_seconds` is set where another one is allowed, and says after how long."""

    error: ModelGatewayError
    pause_seconds: float | None


class ProviderGateway:
    """Models of one provider: `openai`, `anthropic`, `google`, or `local` for a server that speaks OpenAI's protocol.

    `request.model` names the model, else it is `model`. A request is made again only if nothing of it was sent, or if the
    provider refused it for its rate limit and said when to come back; both within the request's time. Connections are kept:
    `aclose` ends them.
    """

    def __init__(self, provider: str, model: str, *, key: str | None = None, base_url: str | None = None) -> None:
        """A local server needs `base_url`, the others `key`. The provider's client is imported at the first request."""
        self._provider = provider
        self._model_name = model
        self._key = key or KEYLESS
        self._base_url = base_url
        self._http = http_client()
        self._make: ModelMaker | None = None
        self._models: dict[str, Model[Any]] = {}

    async def invoke(self, request: ModelRequest) -> ModelResult:
        """Ask the provider. Raises ModelGatewayError; see docs/models.md for its codes."""
        deadline = _clock.monotonic_seconds() + request.timeout_seconds
        try:
            async with asyncio.timeout(request.timeout_seconds):
                outcome = await self._asked(request, deadline)
        except TimeoutError:
            outcome = ModelGatewayError(
                "MODEL_TIMEOUT", f"{self._provider}: the provider did not answer in time", retryable=True
            )
        if isinstance(outcome, ModelGatewayError):
            # Raised here and not where it was found: no error of a client, which may hold what was sent, hangs on it.
            raise outcome
        return outcome

    async def aclose(self) -> None:
        """End the connections."""
        await self._http.aclose()

    def load(self) -> ModelMaker:
        """Import the provider's client now, which takes seconds, and not at the first request."""
        if self._make is None:
            self._make = KINDS[self._provider].make(self._key, self._base_url, self._http)
        return self._make

    async def _asked(self, request: ModelRequest, deadline: float) -> ModelResult | ModelGatewayError:
        model = await self._model(request.model or self._model_name)
        number = 0
        while True:
            outcome = await self._try(model, request, deadline - _clock.monotonic_seconds(), number)
            if isinstance(outcome, ModelResult):
                return outcome
            number += 1
            pause, left = outcome.pause_seconds, deadline - _clock.monotonic_seconds()
            if pause is None or number == MAX_TRIES or pause + SHORTEST_TRY_SECONDS > left:
                return outcome.error
            await asyncio.sleep(pause)

    async def _try(self, model: Model[Any], request: ModelRequest, left: float, number: int) -> ModelResult | _Failure:
        schema = answer_schema(request.output_schema)
        try:
            response = await model_request(
                model,
                messages_of(request),
                model_settings=settings_of(model, request, max(left, SHORTEST_TRY_SECONDS)),
                model_request_parameters=parameters_of(
                    model, schema, keeps_open_parts=KINDS[self._provider].keeps_open_parts
                ),
                instrument=False,  # what is asked and answered must not become part of a span
            )
            return result_of(response, schema, self._provider, model.model_name)
        except ModelGatewayError as error:
            return _Failure(error.with_traceback(None), None)
        except Exception as error:  # noqa: BLE001 - three clients, each with errors of its own; none may go further
            return _Failure(gateway_error(error, self._provider), _pause(error, number))

    async def _model(self, name: str) -> Model[Any]:
        make = self._make if self._make is not None else await asyncio.to_thread(self.load)
        if name not in self._models:
            self._models[name] = make(name)
        return self._models[name]


def _pause(error: Exception, number: int) -> float | None:
    if was_not_sent(error):
        return jittered_seconds(FIRST_PAUSE_SECONDS * 2**number)
    wait = asked_to_wait(error)
    # Never before the time that the provider named, and not all at that time.
    return None if wait is None else wait + jittered_seconds(FIRST_PAUSE_SECONDS) / 2
