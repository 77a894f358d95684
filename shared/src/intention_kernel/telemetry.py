"""Structured logs: one JSON object a line on stderr, with the ids that tie a line to a thread and a turn."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

LOG_FIELDS = ("thread_id", "turn_id", "correlation_id", "receipt_id", "topic", "partition", "offset", "shard")
"""What a line carries when the code that logs gives it: `logger.info("…", extra={"thread_id": …})`."""

LONGEST_TEXT = 32_768
"""Characters of a message or a traceback: who reads our lines has a bound, and a line may hold a provider's whole answer."""


class JsonFormatter(logging.Formatter):
    """`{"at", "level", "process", "logger", "message"}`, the LOG_FIELDS that were given, and `error` with a traceback."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": record.levelname.lower(),
            "process": self._process,
            "logger": record.name,
            "message": _bounded(record.getMessage()),
        }
        line.update({name: getattr(record, name) for name in LOG_FIELDS if hasattr(record, name)})
        if record.exc_info:
            line["error"] = _bounded(self.formatException(record.exc_info))
        return json.dumps(line, default=str)


def _bounded(text: str) -> str:
    """The beginning and the end: of a traceback, where it began and what it was."""
    half = LONGEST_TEXT // 2
    return text if len(text) <= LONGEST_TEXT else f"{text[:half]} … {len(text) - 2 * half} left out … {text[-half:]}"


def configure_logging(process: str, level: int = logging.INFO) -> None:
    """Send every logger of this process to stderr as JSON lines; `process` is the command's name."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(process))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # The driver warns of every retried request; that the broker is away is said once by those who wait for it.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # applications call providers with it; a line each is noise
