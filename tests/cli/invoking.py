"""`intention` inside the test's process, with an environment of its own."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

from click.testing import CliRunner
from intention_kernel.cli.main import run

VARIABLES = (
    "INTENTION_DATABASE_URL",
    "INTENTION_KAFKA_BOOTSTRAP_SERVERS",
    "INTENTION_TOPIC_PREFIX",
    "INTENTION_APPLICATION",
)


@dataclass(frozen=True, slots=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines on stdout."""
        return self.out.splitlines()


def environment(database_url: str = "", bootstrap: str = "", prefix: str = "", application: str = "") -> dict[str, str]:
    """The variables of VARIABLES."""
    return dict(zip(VARIABLES, (database_url, bootstrap, prefix, application), strict=True))


def intention(*arguments: str, env: dict[str, str] | None = None, stdin: str = "") -> Said:
    """Run a command to its end."""
    with CliRunner().isolation(stdin, env={**environment(), **(env or {})}) as (out, err, _):
        code = run(arguments)
        return Said(code, out.getvalue().decode(), err.getvalue().decode())


async def intention_beside(*arguments: str, env: dict[str, str] | None = None, stdin: str = "") -> Said:
    """The same in a thread, while the test goes on."""
    return await asyncio.to_thread(intention, *arguments, env=env, stdin=stdin)


def script_environment() -> dict[str, str]:
    """The environment of a child process that is told of no servers."""
    return {name: value for name, value in os.environ.items() if name not in VARIABLES}
