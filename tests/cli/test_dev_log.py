"""What `intention dev` shows of its services."""

from __future__ import annotations

import json
import logging
import sys

from intention_kernel.cli.dev_log import readable
from intention_kernel.telemetry import JsonFormatter


def _logged(message: str, *, exc_info: bool = False, **extra: object) -> str:
    record = logging.LogRecord("shop", logging.WARNING, "", 0, message, None, sys.exc_info() if exc_info else None)
    record.__dict__.update(extra)
    return JsonFormatter("turn-runner").format(record)


def test_a_programs_own_error_is_shown_as_a_traceback_that_people_can_read() -> None:
    try:
        raise ValueError("a bug of mine")
    except ValueError:
        line = _logged("turn.attempt_failed", exc_info=True, thread_id="t-1", turn_id="u-1")
    head, *traceback = readable(line)
    assert head == "warning: turn.attempt_failed (thread_id t-1, turn_id u-1)"
    assert traceback[0].startswith("Traceback")
    assert traceback[-1] == "ValueError: a bug of mine"


def test_what_is_no_log_line_is_shown_as_it_is() -> None:
    for line in ("ready turn-runner http=8081", '{"my": "print"}', "[1]", "{", "7"):
        assert readable(line) == (line,)


def test_no_line_drives_the_terminal() -> None:
    for line in (_logged("\x1b[2J"), "\x1b[2J", json.dumps({"level": "\x1b", "message": "m", "error": "\x1b\n\x07"})):
        assert all(said.isprintable() for said in readable(line)), line
