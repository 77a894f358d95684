"""Log lines: one JSON object each, whatever goes into them."""

from __future__ import annotations

import json
import logging
import sys

from intention_kernel.telemetry import LONGEST_TEXT, JsonFormatter


def line_of(message: str, error: Exception | None = None) -> dict[str, str]:
    try:
        raise error or ValueError
    except Exception:  # noqa: BLE001 - to have a traceback
        exc_info = sys.exc_info() if error is not None else None
    record = logging.LogRecord("name", logging.ERROR, "file", 1, message, (), exc_info)
    line: dict[str, str] = json.loads(JsonFormatter("turn-runner").format(record))
    return line


def test_a_huge_message_or_error_keeps_its_beginning_and_its_end() -> None:
    """Who reads lines has a bound, and a writer that nobody reads stands still."""
    line = line_of("begin " + "x" * 2_000_000 + " end", ValueError("y" * 2_000_000 + " last"))
    assert line["message"].startswith("begin x")
    assert line["message"].endswith("x end")
    assert line["error"].startswith("Traceback")
    assert line["error"].endswith("y last")
    assert all(len(text) < LONGEST_TEXT + 100 for text in line.values())


def test_what_is_short_stays_as_it_is() -> None:
    assert line_of("a word")["message"] == "a word"
