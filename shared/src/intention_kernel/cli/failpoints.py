"""`intention failpoints`."""

from __future__ import annotations

import click

from intention_kernel.failpoints import FAILPOINTS


@click.command()
def failpoints() -> None:
    """List the failpoints: places where a test may stop, delay or kill a process.

    Example: INTENTION_FAILPOINTS=runner.after_begin=kill turn-runner run
    """
    width = max(map(len, FAILPOINTS))
    for name, meaning in FAILPOINTS.items():
        click.echo(f"{name:<{width}}  {meaning}")
