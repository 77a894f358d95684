"""The file `env` in a data directory: it tells other commands where the servers of `intention dev` are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from intention_kernel.errors import ConfigurationError
from intention_kernel.servers.addresses import Servers

DATABASE_URL = "INTENTION_DATABASE_URL"
KAFKA_BOOTSTRAP_SERVERS = "INTENTION_KAFKA_BOOTSTRAP_SERVERS"


def state_lines(servers: Servers) -> list[str]:
    """KEY=VALUE lines, as the environment wants them."""
    return [f"{DATABASE_URL}={servers.database_url}", f"{KAFKA_BOOTSTRAP_SERVERS}={servers.kafka_bootstrap_servers}"]


def write_state(data_dir: Path, servers: Servers, more: Mapping[str, str] | None = None) -> Path:
    """Write `data_dir/env` in one step (a reader sees all of it or the old one); returns its path.

    `more` are further variables that other commands should find there.
    """
    file = data_dir / "env"
    partial = data_dir / f"env.{os.getpid()}.tmp"
    lines = state_lines(servers) + [f"{name}={value}" for name, value in (more or {}).items()]
    partial.write_text("\n".join(lines) + "\n", "utf-8")
    partial.replace(file)
    return file


def read_variables(data_dir: Path) -> dict[str, str]:
    """Every variable that `write_state` wrote; empty when there is no such file, ConfigurationError when it is another."""
    file = data_dir / "env"
    if not file.exists():
        return {}
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{file} cannot be read ({error}): remove it, `intention dev` writes it again"
        ) from error
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def read_state(data_dir: Path) -> Servers | None:
    """What `write_state` wrote; None when there is no such file or it does not name both servers."""
    values = read_variables(data_dir)
    if not (values.get(DATABASE_URL) and values.get(KAFKA_BOOTSTRAP_SERVERS)):
        return None
    return Servers(values[DATABASE_URL], values[KAFKA_BOOTSTRAP_SERVERS])


def remove_state(data_dir: Path) -> None:
    """The servers are gone; so is the file that named them. Does nothing when it is not there."""
    (data_dir / "env").unlink(missing_ok=True)
