"""Wires a receipt-reconciler together; the only module that names its adapters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from intention_kernel.application.definition import Application
from intention_kernel.application.loading import load_application, open_ports
from intention_kernel.clock import SystemClock
from intention_kernel.contracts.topics import Topics
from intention_kernel.durability.operations import AbandonedOperations
from intention_kernel.postgres.reconciliation import open_receipts
from intention_kernel.reconciliation.reconciler import Reconciler
from intention_kernel.reconciliation.workbench import EffectOf, Workbench, effects_of

from receipt_reconciler.rounds import Rounds
from receipt_reconciler.settings import ReconcilerSettings

PATIENCE_SECONDS = 5.0
"""How long one call asks an absent database before its round ends."""


@dataclass(frozen=True, slots=True)
class WiredReconciler:
    """Everything opened, nothing running yet."""

    rounds: Rounds
    abandoned: AbandonedOperations
    effect_of: EffectOf


@asynccontextmanager
async def wired_reconciler(settings: ReconcilerSettings) -> AsyncIterator[WiredReconciler]:
    """Everything that it needs, opened; closed again in reverse.

    Raises ConfigurationError, SchemaVersionError among them, and InfrastructureError.
    """
    application = load_application(settings.application)
    clock, abandoned = SystemClock(), AbandonedOperations()
    async with (
        open_receipts(
            settings.database_url, pool_size=settings.pool_size, patience_seconds=PATIENCE_SECONDS
        ) as receipts,
        open_ports(application) as ports,
    ):
        effect_of = effects_of(application.agents)
        bench = Workbench(receipts, effect_of, ports, settings.pace, clock, abandoned)
        yield WiredReconciler(Rounds(Reconciler(bench), clock, settings.reconcile_seconds), abandoned, effect_of)


@asynccontextmanager
async def opened_console(
    settings: ReconcilerSettings, effect_of: EffectOf, stop: asyncio.Event
) -> AsyncIterator[int | None]:
    """The port of the console and its API, None where the settings name none. Its imports are paid for only where they do.

    Streams end once `stop` is set. Raises ConfigurationError where the port is taken.
    """
    if settings.console_port is None:
        yield None
        return
    from receipt_reconciler.web.opening import open_console  # noqa: PLC0415 - half a second of imports

    async with open_console(settings, effect_of, stop) as port:
        yield port


@asynccontextmanager
async def opened_resolutions(
    settings: ReconcilerSettings, effect_of: EffectOf, stop: asyncio.Event
) -> AsyncIterator[Callable[[], str | None]]:
    """Decisions from Kafka are taken until `stop` is set, which the end does; says why they are not right now.

    Where the settings accept none, nothing is read and FastStream not imported. Raises ConfigurationError,
    SchemaVersionError among them, and InfrastructureError.
    """
    if not settings.accept_resolutions:
        yield lambda: None
        return
    from receipt_reconciler.resolutions_opening import open_resolutions  # noqa: PLC0415 - a second of imports

    async with open_resolutions(settings, effect_of, stop) as consumer:
        yield lambda: consumer.away


def described(application: Application, settings: ReconcilerSettings) -> list[str]:
    """How each effect's outcome is found out, and whether decisions are taken from Kafka, for `check`."""
    effects = [
        f"agent {agent.id} effect {effect.id}: {type(effect.resolver).__name__}"
        for agent in application.agents
        for effect in agent.effects
    ]
    topic = Topics(settings.topic_prefix).resolutions
    if settings.accept_resolutions:
        return [*effects, f"decisions are taken from {topic}: whoever may write there may settle"]
    return [*effects, f"no decisions are taken from {topic}"]
