"""The command `outbox-relay`."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
from typing import NoReturn

import click
from intention_kernel.errors import ConfigurationError
from intention_kernel.settings import help_text, load
from intention_kernel.telemetry import configure_logging

from outbox_relay.bootstrap import RelayProcess
from outbox_relay.check import check
from outbox_relay.settings import RelaySettings

_log = logging.getLogger(__name__)

EXIT_CONFIGURATION = 2
EXIT_UNWELL = 10


@click.group(epilog="\b\n" + help_text(RelaySettings).replace("\n\n", "\n\n\b\n"))
def main() -> None:
    """Publishes what commits left in the outbox, in order."""


@main.command("run")
def run_command() -> None:
    """Relay until SIGTERM or SIGINT; prints one line starting `ready` when it does."""
    configure_logging("outbox-relay")
    try:
        asyncio.run(_run(load(RelaySettings)))
    except ConfigurationError as error:
        _give_up(error)
    except Exception:  # noqa: BLE001  # the last word belongs into the log, too
        _log.exception("ended by a defect")
        sys.exit(1)


@main.command("check")
def check_command() -> None:
    """Look at the database, its schema, the broker and the topics; exit code 10 where one is not well."""
    try:
        findings = asyncio.run(check(load(RelaySettings)))
    except ConfigurationError as error:
        _give_up(error)
    for finding in findings:
        click.echo(
            f"ok      {finding.subject}" if not finding.problem else f"problem {finding.subject}: {finding.problem}"
        )
    if any(finding.problem for finding in findings):
        sys.exit(EXIT_UNWELL)


async def _run(settings: RelaySettings) -> None:
    relay = RelayProcess(settings, _say_ready)
    loop = asyncio.get_running_loop()
    _spare_the_garbage_collector()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, relay.stop)
    await relay.run()


def _spare_the_garbage_collector() -> None:
    """A chunk is thousands of small objects without cycles: walking them again and again cost a tenth of the CPU."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _say_ready(port: int) -> None:
    click.echo(f"ready outbox-relay http={port}")
    sys.stdout.flush()


def _give_up(error: ConfigurationError) -> NoReturn:
    click.echo(f"outbox-relay cannot start:\n{error}", err=True)
    sys.exit(EXIT_CONFIGURATION)
