"""`turn-runner run | check`."""

from __future__ import annotations

import gc
import sys
from contextlib import AsyncExitStack

import click
from intention_kernel import failpoints
from intention_kernel.application.loading import load_application
from intention_kernel.health import HealthServer
from intention_kernel.lifecycle import run_async, stop_requested, until_reached
from intention_kernel.settings import help_text, load
from intention_kernel.telemetry import configure_logging
from prometheus_client import REGISTRY

from turn_runner.bootstrap import Runner, described, started_runner, stranded, wired_runner
from turn_runner.metrics import RunnerMetrics
from turn_runner.settings import RunnerSettings

EXIT_UNWELL = 10


@click.group(epilog="\b\n" + help_text(RunnerSettings))
@click.version_option(package_name="turn-runner")
def main() -> None:
    """Run turns from Kafka against the durable boundary."""


@main.command()
def run() -> None:
    """Run until SIGTERM or SIGINT; prints one line starting `ready` once partitions are assigned."""
    configure_logging("turn-runner")
    sys.exit(run_async(_run))


@main.command()
def check() -> None:
    """Say whether this build can run: settings, application, database, schema, topic, and stored threads.

    Exit code 10 where a deploy of it would strand threads or leave receipts that nobody could settle.
    """
    problems: list[str] = []
    code = run_async(lambda: _check(problems))
    sys.exit(EXIT_UNWELL if problems else code)


async def _run() -> None:
    settings = load(RunnerSettings)
    failpoints.arm(settings.failpoints)
    async with stop_requested() as stop, AsyncExitStack() as stack:
        runner = await until_reached(lambda: stack.enter_async_context(started_runner(settings)), stop)
        if runner is None:
            return
        REGISTRY.register(RunnerMetrics(runner.consumer, runner.handler))
        health = HealthServer(
            settings.http_port, lambda: _live(runner), lambda: _ready(runner), host=settings.http_host
        )
        async with health:
            click.echo(f"ready turn-runner http={health.port}")
            gc.collect()
            gc.freeze()  # what was loaded stays: a collection looks at the turns only
            await stop.wait()
        await runner.consumer.stop(settings.grace_seconds)
        await runner.durability.abandoned.drain(1.0)


async def _check(problems: list[str]) -> None:
    settings = load(RunnerSettings)
    async with wired_runner(settings):
        click.echo(described(load_application(settings.application)))
        problems += await stranded(settings)
        for problem in problems:
            click.echo(f"problem: {problem}")
        fit = "settings, application, database, schema and topic fit"
        click.echo(fit if problems else f"ok: {fit}, and so does every thread")


def _live(runner: Runner) -> str | None:
    return None if runner.consumer.healthy else "the consumer is stuck; restart this process"


def _ready(runner: Runner) -> str | None:
    state = runner.consumer.state
    if state.away:
        return "the database or the broker is away"
    if state.refused:
        return "; ".join(dict.fromkeys(state.refused))
    if state.undecided:
        return f"the database has not said how far partitions {', '.join(map(str, state.undecided))} are done"
    return None if state.joined else "no partitions are assigned yet"
