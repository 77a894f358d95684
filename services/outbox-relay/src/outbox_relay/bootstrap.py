"""Builds the relay out of its adapters, runs it until a signal, and ends it inside its grace."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from intention_kernel import failpoints
from intention_kernel.clock import Clock, SystemClock
from intention_kernel.errors import InfrastructureError
from intention_kernel.health import HealthServer
from intention_kernel.ids import jittered_seconds, random_id
from intention_kernel.kafka.publisher import KafkaPublisher
from intention_kernel.lifecycle import set_or_after
from intention_kernel.postgres.outbox import PostgresOutbox
from intention_kernel.postgres.outbox_connections import require_migrated
from intention_kernel.postgres.outbox_wakeups import listen_for_wakeups
from intention_kernel.postgres.pool import Pool
from intention_kernel.postgres.relay_leases import PostgresRelayLeases

from outbox_relay.check import require_topics
from outbox_relay.heart import SHARDS_WAKEUP, Heart
from outbox_relay.relay import Relay
from outbox_relay.settings import RelaySettings
from outbox_relay.shards import Abort, Shards

_log = logging.getLogger(__name__)

EXIT_FAIL_STOP = 70
_RETRY_SECONDS = 0.5
_PATIENCE_SECONDS = 1.0  # who asks the database here tries again by itself, and says meanwhile that it is away
_UNREADY_AFTER_SECONDS = 10.0
_DEAD_AFTER_SECONDS = 120.0


def fail_stop(reason: str) -> None:
    """End this process now, flushing nothing: what the producer holds must not be published any more (protocol R37)."""
    _log.critical("stopped at once: %s", reason)
    for handler in logging.getLogger().handlers:
        handler.flush()
    os._exit(EXIT_FAIL_STOP)


class RelayProcess:
    """One relay until `stop` is set, inside its grace.

    `say_ready` is told the HTTP port once the broker answers and shards are shared.
    """

    def __init__(
        self,
        settings: RelaySettings,
        stop: asyncio.Event,
        say_ready: Callable[[int], None],
        *,
        abort: Abort = fail_stop,
    ) -> None:
        """Raises ConfigurationError for settings that cannot work."""
        failpoints.arm(settings.failpoints)
        self._settings = settings
        self._say_ready = say_ready
        self._abort = abort
        self._clock: Clock = SystemClock()
        self._publisher = KafkaPublisher(settings.kafka_bootstrap_servers, settings.topic_prefix, self._clock)
        self._health = HealthServer(settings.http_port, self._dead, self._unready, host=settings.http_host)
        self._stop = stop
        self._waiting_for: str | None = "starting"
        self._heart: Heart | None = None

    async def run(self) -> None:
        """Returns after the stop, with everything given back. Raises ConfigurationError where the installation is wrong."""
        settings = self._settings
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._health)
            await self._reached(lambda: require_migrated(settings.database_url))
            pool = Pool(settings.database_url, settings.pool_size, patience_seconds=_PATIENCE_SECONDS)
            stack.push_async_callback(pool.close)
            await self._reached(self._publisher.start)
            stack.push_async_callback(self._publisher.stop)
            await self._reached(lambda: require_topics(settings))
            if not self._stop.is_set():
                await self._relay(pool)

    async def _relay(self, pool: Pool) -> None:
        settings = self._settings
        owner = random_id().hex
        shards = Shards(PostgresRelayLeases(pool), owner, settings.lease_seconds, self._clock, self._abort)
        relay = Relay(PostgresOutbox(pool), self._publisher, shards, self._clock)
        heart = self._heart = Heart(shards, settings.lease_seconds, relay.wake)

        def on_wakeup(payload: str) -> None:
            if payload == SHARDS_WAKEUP:
                heart.hurry()
            else:
                relay.wake()

        async with asyncio.TaskGroup() as group:
            helpers = [
                group.create_task(heart.beat()),
                group.create_task(heart.watch()),
                group.create_task(listen_for_wakeups(settings.database_url, on_wakeup)),
                group.create_task(self._announce(heart)),
            ]
            relaying = group.create_task(relay.run())
            await self._stop.wait()
            await self._finish(relay, relaying)
            for helper in helpers:
                helper.cancel()
        await self._give_back(shards)

    async def _finish(self, relay: Relay, relaying: asyncio.Task[None]) -> None:
        relay.stop()
        await asyncio.wait([relaying], timeout=self._settings.grace_seconds)
        if not relaying.done():
            self._abort(f"the work in hand was not done after {self._settings.grace_seconds} s")

    async def _give_back(self, shards: Shards) -> None:
        try:
            await shards.release_all()
        except InfrastructureError as error:
            _log.warning("the shards' leases will run out by themselves: %s", error)

    async def _announce(self, heart: Heart) -> None:
        await heart.first_beat.wait()
        self._say_ready(self._health.port)

    async def _reached(self, attempt: Callable[[], Awaitable[None]]) -> None:
        """Try until it succeeds or the relay is stopped."""
        while not self._stop.is_set():
            try:
                await attempt()
            except InfrastructureError as error:
                if self._waiting_for != str(error):
                    _log.warning("%s", error)
                self._waiting_for = str(error)
                await set_or_after(self._stop, jittered_seconds(_RETRY_SECONDS))
            else:
                self._waiting_for = None
                return

    def _dead(self) -> str | None:
        seconds = self._publisher.unanswered_seconds
        return f"the broker has answered nothing for {seconds:.0f} s" if seconds > _DEAD_AFTER_SECONDS else None

    def _unready(self) -> str | None:
        if self._heart is None or self._waiting_for is not None:
            return self._waiting_for or "starting"
        seconds = self._publisher.unanswered_seconds
        if seconds > _UNREADY_AFTER_SECONDS:
            return f"the broker has answered nothing for {seconds:.0f} s"
        return self._heart.problem
