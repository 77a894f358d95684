"""`python -m intention_kernel.verification.bank --port 0 --database FILE`: the bank's process."""

from __future__ import annotations

import argparse
import asyncio
import os
import sqlite3
import sys
from pathlib import Path

from intention_kernel import failpoints
from intention_kernel.errors import ConfigurationError
from intention_kernel.verification.bank.server import serve
from intention_kernel.verification.bank.service import Bank
from intention_kernel.verification.bank.store import BankStore


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code (2: a setting, the port or the file cannot work)."""
    parser = argparse.ArgumentParser(prog="python -m intention_kernel.verification.bank", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one and prints it")
    parser.add_argument("--database", type=Path, required=True, help="the bank's own SQLite file, made if missing")
    options = parser.parse_args(arguments)
    try:
        failpoints.arm(os.environ.get("INTENTION_FAILPOINTS", ""))
        with BankStore(options.database) as store:
            asyncio.run(serve(Bank(store), options.port))
    except ConfigurationError as error:
        return _complain(str(error))
    except sqlite3.Error as error:
        return _complain(f"--database {options.database}: {error}; name a file in a folder that exists")
    except (OSError, OverflowError) as error:
        return _complain(f"--port {options.port}: {error}")
    return 0


def _complain(problem: str) -> int:
    sys.stderr.write(f"{problem}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
