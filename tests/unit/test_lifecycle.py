"""How a process ends: in bounded time, with its exit code, whatever an application leaves running."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from intention_kernel.lifecycle import set_or_after

_PROGRAM = """
import asyncio, sys, time
from intention_kernel.errors import ConfigurationError, InfrastructureError
from intention_kernel.lifecycle import run_async

async def stubborn():
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass

async def main():
    print("said", flush=False)
    {body}

sys.exit(run_async(main))
"""

STUBBORN = "asyncio.create_task(stubborn()); await asyncio.sleep(0)"
THREAD = "asyncio.create_task(asyncio.to_thread(time.sleep, 1000)); await asyncio.sleep(0.05)"
IDLE_THREAD = "await asyncio.to_thread(time.sleep, 0)"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (STUBBORN, 0),
        (THREAD, 0),
        (IDLE_THREAD, 0),
        (f"{STUBBORN}; raise ConfigurationError('wrong')", 2),
        (f"{THREAD}; raise InfrastructureError('away')", 1),
        ("raise ValueError('a bug')", 1),
        ("pass", 0),
    ],
    ids=[
        "a task",
        "a thread",
        "an idle thread",
        "a task and bad settings",
        "a thread and an outage",
        "a bug",
        "nothing",
    ],
)
def test_a_process_ends_with_its_code_whatever_is_left_running(body: str, code: int) -> None:
    """Design 9: a stop is graceful inside its grace; what ignores its cancellation does not hold the process."""
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(body=body)], capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stdout) == (code, "said\n"), ended.stderr
    assert ("ValueError: a bug" in ended.stderr) == ("a bug" in body)


async def test_a_wait_that_ends_as_it_is_cancelled_is_cancelled() -> None:
    """Who waits in a loop would go on for ever, and its process would not end (I-236)."""
    event = asyncio.Event()
    waiting = asyncio.create_task(set_or_after(event, 60.0))
    await asyncio.sleep(0)
    event.set()
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
