"""Record what models answered, and answer from the record: evaluations and demonstrations without a provider.

A recording is JSON lines, one an answer: the digest of the request, its task and prompt id for readers, and the result. What
was asked is not in it, only its digest; what was answered is, as it came.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from intention_kernel.contracts import json_codec
from intention_kernel.contracts.digest import digest
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ConfigurationError, JsonError, ModelGatewayError
from intention_kernel.models.closing import close_gateway
from intention_kernel.ports.model_gateway import ModelGateway, ModelRequest, ModelResult, ModelUsage


def request_digest(request: ModelRequest) -> str:
    """What identifies a request in a recording, as hex digits: all of it but the time that is left."""
    return digest(request.to_json()).hex()


class RecordingGateway:
    """Passes requests on and appends every result to a file, which it makes with its folders. Errors are not recorded."""

    def __init__(self, inner: ModelGateway, file: Path) -> None:
        self._inner = inner
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)

    async def invoke(self, request: ModelRequest) -> ModelResult:
        """Ask the inner gateway. Raises what it raises, and OSError where the file cannot be written."""
        result = await self._inner.invoke(request)
        _append(self._file, json_codec.dumps(_line(request, result)) + b"\n")
        return result

    async def aclose(self) -> None:
        """Close the inner gateway."""
        await close_gateway(self._inner)


class ReplayingGateway:
    """Answers from a recording, asks nobody, and gives a request that was recorded twice its first answer.

    Raises ConfigurationError at the start where the file is not there or is no recording.
    """

    def __init__(self, file: Path) -> None:
        self._name = file.name
        self._results = _read(file)

    async def invoke(self, request: ModelRequest) -> ModelResult:
        """The recorded result. Raises MODEL_RECORDING_MISSING where there is none."""
        found = self._results.get(request_digest(request))
        if found is None:
            what = f"task {request.task}, prompt {request.prompt_id}, digest {request_digest(request)[:12]}"
            raise ModelGatewayError("MODEL_RECORDING_MISSING", f"{self._name} holds no answer to {what}")
        return found


def _line(request: ModelRequest, result: ModelResult) -> JsonValue:
    return {
        "request": request_digest(request),
        "task": request.task,
        "promptId": request.prompt_id,
        "value": result.value,
        "provider": result.provider,
        "model": result.model,
        "inputTokens": result.usage.input_tokens,
        "outputTokens": result.usage.output_tokens,
    }


def _append(file: Path, line: bytes) -> None:
    """In one write at the end of the file, so that processes that record into one file do not mix their lines."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _read(file: Path) -> dict[str, ModelResult]:
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise ConfigurationError(f"the recording {file} cannot be read: {error.strerror}") from None
    results: dict[str, ModelResult] = {}
    for number, line in enumerate(lines, start=1):
        try:
            entry = cast("dict[str, JsonValue]", json_codec.loads(line))
            results.setdefault(str(entry["request"]), _result(entry))
        except (JsonError, KeyError, TypeError) as error:
            raise ConfigurationError(f"{file}, line {number}: is not a recorded answer ({error})") from None
    return results


def _result(entry: dict[str, JsonValue]) -> ModelResult:
    return ModelResult(
        value=entry["value"],
        provider=str(entry["provider"]),
        model=str(entry["model"]),
        usage=ModelUsage(_tokens(entry["inputTokens"]), _tokens(entry["outputTokens"])),
    )


def _tokens(value: JsonValue) -> int | None:
    return value if isinstance(value, int) else None
