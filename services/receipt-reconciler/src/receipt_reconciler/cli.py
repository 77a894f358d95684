"""`receipt-reconciler run | check`."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack

import click
from intention_kernel import failpoints
from intention_kernel.application.loading import load_application
from intention_kernel.health import HealthServer
from intention_kernel.lifecycle import run_async, stop_requested, until_reached
from intention_kernel.settings import help_text, load
from intention_kernel.telemetry import configure_logging

from receipt_reconciler.bootstrap import described, opened_console, opened_resolutions, wired_reconciler
from receipt_reconciler.rounds import Rounds
from receipt_reconciler.settings import ReconcilerSettings

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
        wired = await until_reached(lambda: stack.enter_async_context(wired_reconciler(settings)), stop)
        if wired is None:
            return
        rounds = wired.rounds
        resolutions_away = await until_reached(
            lambda: stack.enter_async_context(opened_resolutions(settings, wired.effect_of, stop)), stop
        )
        if resolutions_away is None:
            return
        health = HealthServer(
            settings.http_port,
            lambda: _live(rounds),
            lambda: rounds.away or resolutions_away(),
            host=settings.http_host,
        )
        async with health:
            console = await stack.enter_async_context(opened_console(settings, wired.effect_of, stop))
            click.echo(f"ready receipt-reconciler http={health.port}{'' if console is None else f' console={console}'}")
            await rounds.run(stop, settings.grace_seconds)
            await wired.abandoned.drain(1.0)


async def _check() -> None:
    settings = load(ReconcilerSettings)
    async with wired_reconciler(settings):
        for line in described(load_application(settings.application), settings):
            click.echo(line)
        click.echo("ok: settings, application, ports, database and schema fit")


def _live(rounds: Rounds) -> str | None:
    silent = rounds.silent_seconds
    return f"no round has ended for {silent:.0f} s; restart this process" if silent > _STUCK_SECONDS else None
