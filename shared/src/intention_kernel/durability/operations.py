"""What outlives its turn: operations that went on though cancelled, and answers that the store was not there to take.

Both are still recorded: nobody but this process knows them (protocol R18, R22 c, R24).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import InfrastructureError
from intention_kernel.ids import jittered_seconds

logger = logging.getLogger(__name__)

ABANDON_AFTER_SECONDS = 1.0
"""What is not over this long after its cancellation is left to itself."""

_ASK_AGAIN_SECONDS = 1.0


class AbandonedOperations:
    """Operations of this process that ignored their cancellation, and answers that are not recorded yet.

    One per process, drained on a graceful stop.
    """

    def __init__(self) -> None:
        self._watchers: set[asyncio.Task[None]] = set()

    def watch(self, operation: asyncio.Task[JsonValue], record: Callable[[], Awaitable[None]]) -> None:
        """Run `record` once the operation is over, however that is, and until the store has answered."""

        async def wait_and_record() -> None:
            await asyncio.wait({operation})
            await _until_recorded(record)

        self._keep(wait_and_record())

    def keep(self, record: Callable[[], Awaitable[None]]) -> None:
        """Run `record` until the store has answered."""
        self._keep(_until_recorded(record))

    @property
    def pending(self) -> int:
        """How many there are; with none nothing of this process can reach a provider any more."""
        return len(self._watchers)

    async def drain(self, seconds: float) -> None:
        """Give late answers that long to arrive and be recorded."""
        if self._watchers:
            await asyncio.wait(set(self._watchers), timeout=seconds)

    def _keep(self, recording: Coroutine[object, object, None]) -> None:
        watcher = asyncio.get_running_loop().create_task(recording)
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)


async def _until_recorded(record: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await record()
        except InfrastructureError:
            await asyncio.sleep(jittered_seconds(_ASK_AGAIN_SECONDS))
        except Exception:
            logger.exception("a late answer could not be recorded; the receipt stays uncertain")
            return
        else:
            return


async def finish_or_cancel(operation: asyncio.Task[object], seconds: float) -> None:
    """Wait for the operation; after `seconds` cancel it, and leave it if that does not end it either."""
    done, _ = await asyncio.wait({operation}, timeout=seconds)
    if not done:
        operation.cancel()
        await asyncio.wait({operation}, timeout=ABANDON_AFTER_SECONDS)
