"""Run every FAN-7 plan and a dozen retail conversations side by side on embedded servers, in a scratch directory, with new ids.

Exit code 1 where anything disagrees.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from intention_kernel.clock import SystemClock
from intention_kernel.errors import IntentionKernelError
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.select import selected_servers

from examples.demo.fan7 import tell_fan7
from examples.demo.retail import play_retail
from examples.demo.story import Say
from examples.demo.summary import Account, closing_lines

INTRODUCTION = (
    "FAN-7 is a job: its agent reserves 2 parts in an inventory, an outside service with its own database, and writes a",
    "work order for them. In each run the outcome of the reservation gets lost; nothing may be reserved twice or forgotten.",
    "Beside it a dozen published conversations of a shop's support are played, with a customer each. The shop loses replies,",
    "and processes are killed; the shop has to end in the published state, with every effect applied once.",
)


class Narrator:
    """One line a thing that happens, with the seconds since the start."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._start_seconds = self._clock.monotonic_seconds()

    def __call__(self, who: str, what: str) -> None:
        seconds = self._clock.monotonic_seconds() - self._start_seconds
        print(f"{seconds:6.1f} s  {who:<10}  {what}", flush=True)


def main() -> int:
    """Returns the exit code."""
    root = Path(os.environ.get("TMPDIR") or ".cache/tmp")
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="demo-", dir=root) as scratch:
        accounts = asyncio.run(_demonstrate(Path(scratch).resolve()))
    print()
    print("\n".join(closing_lines(accounts)))
    return 1 if any(one.differences for one in accounts) else 0


async def _demonstrate(scratch: Path) -> list[Account]:
    say = Narrator()

    def progress(line: str) -> None:
        say("servers", line)

    async with selected_servers(scratch / "servers", environment=os.environ, say=progress) as servers:
        say("servers", f"Postgres and Apache Kafka answer ({servers.kafka_bootstrap_servers})")
        print("", *INTRODUCTION, sep="\n")
        return await _side_by_side(servers, scratch, say)


async def _side_by_side(servers: Servers, scratch: Path, say: Say) -> list[Account]:
    try:
        async with asyncio.TaskGroup() as group:
            fan7 = group.create_task(tell_fan7(servers, scratch, say))
            retail = group.create_task(play_retail(servers, scratch, say))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return [*fan7.result(), retail.result()]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except IntentionKernelError as error:
        sys.exit(f"the demo stopped: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
