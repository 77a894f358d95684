"""The inventory service of FAN-7: an outside world with an API of keyed, idempotent writes and faults on request.

    python -m examples.fan7.inventory --port 0 --database inventory.sqlite

`PUT /reservations/{key}` and `PUT /work-orders/{key}` answer 200 with a receipt, the original one at every identical
repeat; 409 where the key belongs to another payload; 422 where the body or the world does not allow it. After 409 and
422 nothing has changed. Keys are URL-encoded path segments of any UTF-8. Errors are RFC 9457 problems.
"""

from __future__ import annotations

import argparse
import logging
import os
import sqlite3
import sys
from pathlib import Path

from intention_kernel import failpoints
from intention_kernel.errors import ConfigurationError

from examples.fan7.inventory_app import inventory_app
from examples.fan7.inventory_store import InventoryStore
from examples.loopback import serve


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code (2: a setting or the file cannot work)."""
    parser = argparse.ArgumentParser(prog="python -m examples.fan7.inventory", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=_port, default=0, help="port on 127.0.0.1; 0 takes a free one and prints it")
    parser.add_argument("--database", type=Path, required=True, help="the inventory's own SQLite file, made if missing")
    parser.add_argument(
        "--log-writes", action="store_true", help="print a line for every keyed write that is asked for"
    )
    options = parser.parse_args(arguments)
    if options.log_writes:
        logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
    try:
        failpoints.arm(os.environ.get("INTENTION_FAILPOINTS", ""))
        store = InventoryStore(options.database)
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return 2
    except sqlite3.Error as error:
        print(f"--database {options.database}: {error}; name a file in a folder that exists", file=sys.stderr)
        return 2
    with store:
        serve(inventory_app(store), options.port)
    return 0


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError
    return port


if __name__ == "__main__":
    sys.exit(main())
