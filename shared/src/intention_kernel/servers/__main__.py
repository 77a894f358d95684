"""Both servers in the foreground: `python -m intention_kernel.servers --data DIR` until SIGINT or SIGTERM.

Prints the two KEY=VALUE lines and then a line that starts with `ready`; writes the same lines to DIR/env.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from intention_kernel.errors import ConfigurationError
from intention_kernel.servers.embedded import EmbeddedServers, embedded_servers
from intention_kernel.servers.state import remove_state, state_lines, write_state


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m intention_kernel.servers", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(".intention"), help="where the data is kept")
    parser.add_argument(
        "--postgres-setting", action="append", default=[], metavar="NAME=VALUE", help="a Postgres setting, repeatable"
    )
    return parser.parse_args()


async def _until_asked_to_stop(servers: EmbeddedServers) -> int:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked.set)
    stopped = asyncio.ensure_future(servers.wait_until_one_stops())
    asking = asyncio.ensure_future(asked.wait())
    await asyncio.wait({stopped, asking}, return_when=asyncio.FIRST_COMPLETED)
    asking.cancel()
    if not stopped.done():
        stopped.cancel()
        return 0
    _say(stopped.result())
    return 1


async def _serve(data_dir: Path, settings: dict[str, str]) -> int:
    async with embedded_servers(data_dir, say=_say, postgres_settings=settings) as servers:
        write_state(data_dir, servers)
        try:
            for line in state_lines(servers):
                _say(line)
            _say("ready: stop with Ctrl-C")
            return await _until_asked_to_stop(servers)
        finally:
            remove_state(data_dir)


def main() -> int:
    """Exit code 0 after a signal, 1 when a server ended by itself, 2 when something is missing or in the way."""
    arguments = _arguments()
    settings = dict(setting.partition("=")[::2] for setting in arguments.postgres_setting)
    try:
        return asyncio.run(_serve(arguments.data, settings))
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
