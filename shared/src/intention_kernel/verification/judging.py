"""Run a check and say what came of it, in words that somebody can act on who has no test framework at hand."""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import Awaitable
from types import TracebackType

from intention_kernel.clock import SystemClock
from intention_kernel.errors import ConfigurationError, InfrastructureError, words_of
from intention_kernel.verification.checks import Check, Outcome

_SHOWN_VALUE = 160


def require_assertions() -> None:
    """Raises ConfigurationError under `python -O`, where every check would pass because it asserts nothing."""
    if not __debug__:
        raise ConfigurationError(
            "PYTHONOPTIMIZE or -O: it switches assertions off, of which the suites are made; unset it"
        )


async def judge(check: Check, trying: Awaitable[None], seconds: float) -> Outcome:
    """The outcome of one check; a failure also where it does not end in `seconds`. Raises nothing but a cancellation."""
    clock = SystemClock()
    began = clock.monotonic_seconds()
    failed = ""
    try:
        async with asyncio.timeout(seconds):
            await trying
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this check's failure and no other's
        failed = what_failed(error)
    took = clock.monotonic_seconds() - began
    return Outcome(check, "fail", took, failed) if failed else Outcome(check, "pass", took, check.title)


def what_failed(error: BaseException) -> str:
    """The error in one line; an assertion without words is told by its source and the values in it.

    What did not end in time, or could not be reached, shows no broken guarantee, and none that holds either.
    """
    if isinstance(error, AssertionError):
        return _one_line(str(error)) if error.args else _assertion(error.__traceback__)
    undecided = "no answer in time: " if isinstance(error, InfrastructureError | TimeoutError) else ""
    return undecided + _one_line(words_of(error))


def _assertion(trace: TracebackType | None) -> str:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an assertion failed"
    [frame] = traceback.extract_tb(trace, limit=1)
    line = _one_line(frame.line or "assert ?")
    values = {name: value for name, value in trace.tb_frame.f_locals.items() if name != "self" and _names(line, name)}
    seen = ", ".join(f"{name} = {_shown(value)}" for name, value in values.items())
    return f"{line} (where {seen})" if seen else line


def _names(line: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}\b", line) is not None


def _shown(value: object) -> str:
    text = _one_line(repr(value))
    return text if len(text) <= _SHOWN_VALUE else text[:_SHOWN_VALUE] + "…"


def _one_line(text: str) -> str:
    return " ".join(text.split())
