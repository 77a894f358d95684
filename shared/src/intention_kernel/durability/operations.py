"""Operations that outlive their turn: cancelled, they went on; what they answer is still recorded (protocol R18, R24)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from intention_kernel.contracts.json_codec import JsonValue

logger = logging.getLogger(__name__)

ABANDON_AFTER_SECONDS = 1.0
"""What is not over this long after its cancellation is left to itself."""


class AbandonedOperations:
    """The operations of this process that ignored their cancellation. One per process, drained on a graceful stop."""

    def __init__(self) -> None:
        self._watchers: set[asyncio.Task[None]] = set()

    def watch(self, operation: asyncio.Task[JsonValue], record: Callable[[], Awaitable[None]]) -> None:
        """Run `record` once the operation is over, however that is."""

        async def wait_and_record() -> None:
            await asyncio.wait({operation})
            try:
                await record()
            except Exception:
                logger.exception("a late answer could not be recorded; the receipt stays uncertain")

        watcher = asyncio.get_running_loop().create_task(wait_and_record())
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)

    @property
    def empty(self) -> bool:
        """Nothing of this process can reach a provider any more."""
        return not self._watchers

    async def drain(self, seconds: float) -> None:
        """Give late answers that long to arrive and be recorded."""
        if self._watchers:
            await asyncio.wait(set(self._watchers), timeout=seconds)


async def finish_or_cancel(operation: asyncio.Task[object], seconds: float) -> None:
    """Wait for the operation; after `seconds` cancel it, and leave it if that does not end it either."""
    done, _ = await asyncio.wait({operation}, timeout=seconds)
    if not done:
        operation.cancel()
        await asyncio.wait({operation}, timeout=ABANDON_AFTER_SECONDS)
