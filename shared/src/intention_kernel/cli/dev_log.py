"""What the services of `intention dev` log, as a person at a terminal reads it."""

from __future__ import annotations

from collections.abc import Iterator

from intention_kernel.cli.output import visible
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.errors import JsonError
from intention_kernel.telemetry import LOG_FIELDS


def readable(line: str) -> tuple[str, ...]:
    """One line of a service's output as lines without control characters: of a log line its level, message, ids and
    traceback; anything else as it is."""
    try:
        document = loads(line)
    except JsonError:
        return (visible(line),)
    if not isinstance(document, dict) or not {"level", "message"} <= document.keys():
        return (visible(line),)
    return tuple(map(visible, _lines(document)))


def _lines(document: dict[str, JsonValue]) -> Iterator[str]:
    ids = ", ".join(f"{name} {visible(document[name])}" for name in LOG_FIELDS if name in document)
    yield f"{document['level']}: {document['message']}{f' ({ids})' if ids else ''}"
    yield from str(document.get("error", "")).splitlines()
