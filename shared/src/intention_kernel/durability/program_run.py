"""Running an application's code so that, whatever it raises, its own attempt or call alone is what ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from intention_kernel.errors import InfrastructureError, LeaseLostError, ProgramError, TurnHeldError, words_of

T = TypeVar("T")

_KERNELS_OWN = (InfrastructureError, LeaseLostError, TurnHeldError)
"""What these say of the kernel is known to the scope; raised by a program they are an error like any other."""


async def contained(run: Callable[[], Awaitable[T]]) -> T:
    """What `run` returns. Of what is no Exception, only a cancellation and Ctrl-C leave it as they are.

    An event loop ends on SystemExit, and what catches Exception for its neighbours' sake misses the rest.
    """
    try:
        return await run()
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise
    except Exception:
        raise
    except BaseException as error:
        raise ProgramError(f"raised {words_of(error)}") from error


def ended(task: asyncio.Task[T]) -> T:
    """The result of a program that is over and was not cancelled by us; raises what fails its attempt."""
    if task.cancelled():
        raise ProgramError("cancelled itself")
    try:
        return task.result()
    except _KERNELS_OWN as error:
        raise ProgramError(f"raised {words_of(error)}") from error
