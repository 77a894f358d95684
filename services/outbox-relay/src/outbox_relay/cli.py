"""`outbox-relay run | check`."""

from __future__ import annotations

import sys

import click
from intention_kernel.lifecycle import run_async, stop_requested
from intention_kernel.settings import help_text, load
from intention_kernel.telemetry import configure_logging

from outbox_relay.bootstrap import RelayProcess
from outbox_relay.check import Finding, check
from outbox_relay.settings import RelaySettings

EXIT_UNWELL = 10


@click.group(epilog=f"\b\n{help_text(RelaySettings)}")
@click.version_option(package_name="outbox-relay")
def main() -> None:
    """Publishes what commits left in the outbox, in order."""


@main.command("run")
def run_command() -> None:
    """Relay until SIGTERM or SIGINT; prints one line starting `ready` when it does."""
    configure_logging("outbox-relay")
    sys.exit(run_async(_run))


@main.command("check")
def check_command() -> None:
    """Look at the database, its schema, the broker and the topics; exit code 10 where one is not well."""
    findings: list[Finding] = []

    async def look() -> None:
        findings.extend(await check(load(RelaySettings)))

    code = run_async(look)
    for finding in findings:
        click.echo(
            f"ok      {finding.subject}" if not finding.problem else f"problem {finding.subject}: {finding.problem}"
        )
    sys.exit(EXIT_UNWELL if any(finding.problem for finding in findings) else code)


async def _run() -> None:
    async with stop_requested() as stop:
        await RelayProcess(load(RelaySettings), stop, _say_ready).run()


def _say_ready(port: int) -> None:
    click.echo(f"ready outbox-relay http={port}")
