"""`receipt-reconciler run | check`."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack

import click
from intention_kernel import failpoints
from intention_kernel.application.loading import load_application
from intention_kernel.errors import InfrastructureError
from intention_kernel.health import HealthServer
from intention_kernel.ids import jittered_seconds
from intention_kernel.lifecycle import run_async, stop_requested
from intention_kernel.settings import help_text, load
from intention_kernel.telemetry import configure_logging

from receipt_reconciler.bootstrap import WiredReconciler, described, wired_reconciler
from receipt_reconciler.rounds import Rounds, logger, set_or_after
from receipt_reconciler.settings import ReconcilerSettings

_RETRY_SECONDS = 0.5
_STUCK_SECONDS = 120.0


@click.group(epilog="\b\n" + help_text(ReconcilerSettings))
@click.version_option(package_name="receipt-reconciler")
def main() -> None:
    """Settle external effects whose outcome is unknown, and see their conversations through."""


@main.command()
def run() -> None:
    """Run until SIGTERM or SIGINT; prints one line starting `ready` once the database answers."""
    configure_logging("receipt-reconciler")
    sys.exit(run_async(_run))


@main.command()
def check() -> None:
    """Say whether this build can run: settings, application, ports, database, schema."""
    sys.exit(run_async(_check))


async def _run() -> None:
    settings = load(ReconcilerSettings)
    failpoints.arm(settings.failpoints)
    async with stop_requested() as stop, AsyncExitStack() as stack:
        wired = await _opened(settings, stack, stop)
        if wired is None:
            return
        rounds = wired.rounds
        health = HealthServer(settings.http_port, lambda: _live(rounds), lambda: rounds.away, host=settings.http_host)
        async with health:
            click.echo(f"ready: http://{settings.http_host}:{health.port} settles receipts")
            sys.stdout.flush()
            await rounds.run(stop, settings.grace_seconds)
            await wired.abandoned.drain(1.0)


async def _opened(settings: ReconcilerSettings, stack: AsyncExitStack, stop: asyncio.Event) -> WiredReconciler | None:
    """What it needs, as soon as the database answers; None where it is stopped before."""
    said = ""
    while not stop.is_set():
        try:
            return await stack.enter_async_context(wired_reconciler(settings))
        except InfrastructureError as error:
            if str(error) != said:
                logger.warning("%s", error)
            said = str(error)
        await set_or_after(stop, jittered_seconds(_RETRY_SECONDS))
    return None


async def _check() -> None:
    settings = load(ReconcilerSettings)
    async with wired_reconciler(settings):
        for line in described(load_application(settings.application)):
            click.echo(line)
        click.echo("ok: settings, application, ports, database and schema fit")


def _live(rounds: Rounds) -> str | None:
    silent = rounds.silent_seconds
    return f"no round has ended for {silent:.0f} s; restart this process" if silent > _STUCK_SECONDS else None
