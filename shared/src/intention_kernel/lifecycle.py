"""How a process starts, is told to stop, and ends: signals and exit codes, the same for all of them."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

try:
    import uvloop
except ImportError:  # not on Windows
    uvloop = None  # type: ignore[assignment,unused-ignore]

from intention_kernel.errors import ConfigurationError, InfrastructureError, IntentionKernelError
from intention_kernel.ids import jittered_seconds

logger = logging.getLogger(__name__)

T = TypeVar("T")

_RETRY_SECONDS = 0.5
_REST_SECONDS = 1.0
_LOOK_AGAIN_SECONDS = 0.02
_THREADS = "intention-thread"

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130


def run_async(main: Callable[[], Awaitable[None]]) -> int:
    """Run a command on uvloop where there is one; returns its exit code. Our own errors are one message on stderr.

    0 ended well, 1 failed, 2 settings or installation are wrong, 130 interrupted before it could stop by itself. Where an
    application's task or thread does not end, the process ends with that code instead of returning it.
    """
    runner, threads = asyncio.Runner(loop_factory=_loop_factory()), ThreadPoolExecutor(thread_name_prefix=_THREADS)
    runner.get_loop().set_default_executor(threads)
    code = EXIT_FAILED
    try:
        code = _code_of(lambda: runner.run(_awaited(main)))
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        if not runner.run(_rest_ended()):
            logger.warning("what ignored its cancellation ends with the process")
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        runner.close()
    return code


@asynccontextmanager
async def stop_requested() -> AsyncIterator[asyncio.Event]:
    """An event that SIGTERM and SIGINT set; a second signal has its usual effect."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def ask() -> None:
        stop.set()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask)
    try:
        yield stop
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def until_reached(attempt: Callable[[], Awaitable[T]], stop: asyncio.Event) -> T | None:
    """What `attempt` returns, tried again while it raises InfrastructureError; None where `stop` is set before.

    A process that starts before its servers waits for them, and says why, once for each reason.
    """
    said = ""
    while not stop.is_set():
        try:
            return await attempt()
        except InfrastructureError as error:
            if str(error) != said:
                logger.warning("%s", error)
            said = str(error)
        await set_or_after(stop, jittered_seconds(_RETRY_SECONDS))
    return None


async def set_or_after(event: asyncio.Event, seconds: float) -> None:
    """Return when the event is set, or after that long; a cancellation is never lost.

    `asyncio.wait_for` of Python 3.11 returns where the event is set and its task cancelled at the same moment.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _code_of(run: Callable[[], None]) -> int:
    try:
        run()
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_USAGE
    except IntentionKernelError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return EXIT_OK


async def _rest_ended() -> bool:
    """Whether everything but us ends soon after it was cancelled: an operation, or a call in a thread, may not."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    left = (await asyncio.wait(rest, timeout=_REST_SECONDS))[1] if rest else set()
    tries = round(_REST_SECONDS / _LOOK_AGAIN_SECONDS)
    while tries and (working := any(thread.name.startswith(_THREADS) for thread in threading.enumerate())):
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        tries -= 1
    return not left and not working


async def _awaited(main: Callable[[], Awaitable[None]]) -> None:
    await main()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    return uvloop.new_event_loop if uvloop is not None else None
