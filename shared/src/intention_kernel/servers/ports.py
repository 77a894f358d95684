"""Free ports on loopback.

They come from below the range that the systems hand out to outgoing connections: a client that dials a dead server inside
that range can be connected to itself, and then the server cannot come back.
"""

from __future__ import annotations

import socket
from pathlib import Path

from intention_kernel.errors import ConfigurationError
from intention_kernel.ids import random_id

LOOPBACK = "127.0.0.1"
_FIRST = 20_000
_COUNT = 12_000
_TRIES = 200


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """A port that was free a moment ago; whoever binds it must be ready to try another."""
    for _ in range(_TRIES):
        port = _FIRST + random_id().int % _COUNT
        if _is_free(port):
            return port
    raise ConfigurationError(f"no free port on {LOOPBACK} between {_FIRST} and {_FIRST + _COUNT - 1}")


def remembered_port(file: Path) -> int:
    """The port written in `file` while it is free, so that a restart keeps its address; else a free one."""
    text = file.read_text("ascii").strip() if file.exists() else ""
    return int(text) if text.isdigit() and _is_free(int(text)) else free_port()
