"""The file `env` in a data directory: it tells other commands where the servers of `intention dev` are."""

from __future__ import annotations

import os
from pathlib import Path

from intention_kernel.servers.addresses import Servers

DATABASE_URL = "INTENTION_DATABASE_URL"
KAFKA_BOOTSTRAP_SERVERS = "INTENTION_KAFKA_BOOTSTRAP_SERVERS"


def state_lines(servers: Servers) -> list[str]:
    """KEY=VALUE lines, as the environment wants them."""
    return [f"{DATABASE_URL}={servers.database_url}", f"{KAFKA_BOOTSTRAP_SERVERS}={servers.kafka_bootstrap_servers}"]


def write_state(data_dir: Path, servers: Servers) -> Path:
    """Write `data_dir/env` in one step (a reader sees all of it or the old one); returns its path."""
    file = data_dir / "env"
    partial = data_dir / f"env.{os.getpid()}.tmp"
    partial.write_text("\n".join(state_lines(servers)) + "\n", "utf-8")
    partial.replace(file)
    return file


def read_state(data_dir: Path) -> Servers | None:
    """What `write_state` wrote; None when there is no such file or it does not name both servers."""
    file = data_dir / "env"
    if not file.exists():
        return None
    pairs = (line.partition("=") for line in file.read_text("utf-8").splitlines())
    values = {name.strip(): value.strip() for name, _, value in pairs}
    if not (values.get(DATABASE_URL) and values.get(KAFKA_BOOTSTRAP_SERVERS)):
        return None
    return Servers(values[DATABASE_URL], values[KAFKA_BOOTSTRAP_SERVERS])


def remove_state(data_dir: Path) -> None:
    """The servers are gone; so is the file that named them. Does nothing when it is not there."""
    (data_dir / "env").unlink(missing_ok=True)
