"""Running an application's code so that, whatever it raises, its own attempt or call alone is what ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from intention_kernel.errors import ProgramError, words_of

T = TypeVar("T")


async def contained(run: Callable[[], Awaitable[T]]) -> T:
    """What `run` returns. Of what is no Exception, only a cancellation and Ctrl-C leave it as they are.

    An event loop ends on SystemExit, whichever of its tasks raises it, and what catches Exception for its neighbours' sake
    misses the rest. So every task that runs an application's code runs it in here.
    """
    try:
        return await run()
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise
    except Exception:
        raise
    except BaseException as error:
        raise ProgramError(f"raised {words_of(error)}") from error
