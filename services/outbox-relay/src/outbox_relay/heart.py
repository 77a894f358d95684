"""Keeps the shards: renews their leases in time, and drops them in time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from intention_kernel.errors import InfrastructureError
from intention_kernel.ids import jittered_seconds
from intention_kernel.lifecycle import set_or_after

from outbox_relay import metrics
from outbox_relay.shards import Shards

_log = logging.getLogger(__name__)

SHARDS_WAKEUP = "shards"
"""The payload of a wake-up that says that somebody gave shards back."""


class Heart:
    """Beats and watches until cancelled. `on_change` is called when other shards are owned than before."""

    def __init__(self, shards: Shards, lease_seconds: float, on_change: Callable[[], None]) -> None:
        self._shards = shards
        self._lease_seconds = lease_seconds
        self._on_change = on_change
        self._hurry = asyncio.Event()
        self.problem: str | None = "the shards have not been shared out yet"
        """Why it cannot take or keep shards now; None after a beat that went well."""
        self.first_beat = asyncio.Event()

    def hurry(self) -> None:
        """Shards were given back: if this relay has too few, beat now."""
        if self._shards.hungry:
            self._hurry.set()

    async def beat(self) -> None:
        """Beat for ever."""
        while True:
            self._hurry.clear()
            pause = await self._beat_once()
            await set_or_after(self._hurry, pause)

    async def watch(self) -> None:
        """Lose at its deadline what was not renewed, for ever; does not depend on the store's answers."""
        while True:
            left = self._shards.drop_expired()
            await asyncio.sleep(self._lease_seconds / 4 if left is None else left)

    async def _beat_once(self) -> float:
        before = self._shards.owned
        try:
            pause = await self._shards.beat()
        except InfrastructureError as error:
            metrics.FAILURES.labels("beat").inc()
            _log.warning("%s", error)
            self.problem = str(error)
            pause = jittered_seconds(min(1.0, self._lease_seconds / 10))
        else:
            self.problem = None
            self.first_beat.set()
        if self._shards.owned != before:
            metrics.SHARDS_OWNED.set(len(self._shards.owned))
            self._on_change()
        return pause
