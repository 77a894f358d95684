"""The retail shop: an outside world of 15 operations, with keyed, idempotent writes and faults on request.

    python -m examples.retail.shop --port 0 --database shop.sqlite [--data DIR]

Every request names its world (`X-World`), a view of its own of the same records. `POST /operations/{name}` takes the
arguments as a JSON object and answers 200 with {"operation", "result", …}; writes need an `Idempotency-Key`, and an
identical repeat gets the original outcome. 422 {"code", "message"} is a refusal by the rules and 409 a key that belongs
to another payload: nothing has changed, and the key of a refusal is still free. `GET /operations/{key}` is the stored
outcome or 404 `absent`, `GET /worlds/{id}/changes` what differs from the records, `GET /ledger` every effect of all
worlds. Keys and worlds are percent-encoded UTF-8, in headers as in paths.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
from pathlib import Path

from intention_kernel import failpoints
from intention_kernel.errors import ConfigurationError

from examples.loopback import serve
from examples.retail.records import EXTRACT, load_records
from examples.retail.shop_app import shop_app
from examples.retail.shop_store import ShopStore


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code (2: a setting or a file cannot work)."""
    parser = argparse.ArgumentParser(prog="python -m examples.retail.shop", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=_port, default=0, help="port on 127.0.0.1; 0 takes a free one and prints it")
    parser.add_argument("--database", type=Path, required=True, help="the shop's own SQLite file, made if missing")
    parser.add_argument(
        "--data", type=Path, default=EXTRACT, help="folder of the shop's records; the extract if left out"
    )
    options = parser.parse_args(arguments)
    try:
        failpoints.arm(os.environ.get("INTENTION_FAILPOINTS", ""))
        store = ShopStore(options.database, load_records(options.data))
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return 2
    except sqlite3.Error as error:
        print(f"--database {options.database}: {error}; name a file in a folder that exists", file=sys.stderr)
        return 2
    with store:
        serve(shop_app(store), options.port)
    return 0


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError
    return port


if __name__ == "__main__":
    sys.exit(main())
