"""Which servers tests run on: INTENTION_TEST_SERVERS=embedded|docker|external, and external addresses always win."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from intention_kernel.errors import ConfigurationError
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.containers import container_servers
from intention_kernel.servers.embedded import embedded_servers
from intention_kernel.servers.state import DATABASE_URL, KAFKA_BOOTSTRAP_SERVERS

CHOICE = "INTENTION_TEST_SERVERS"


def external_servers(environment: Mapping[str, str]) -> Servers | None:
    """The addresses that the environment names; None when it names none, ConfigurationError when only one of two."""
    database_url = environment.get(DATABASE_URL, "")
    bootstrap_servers = environment.get(KAFKA_BOOTSTRAP_SERVERS, "")
    if bool(database_url) != bool(bootstrap_servers):
        missing = KAFKA_BOOTSTRAP_SERVERS if database_url else DATABASE_URL
        raise ConfigurationError(f"{missing} is not set although the other server's address is: set both or neither")
    return Servers(database_url, bootstrap_servers) if database_url else None


def server_choice(environment: Mapping[str, str]) -> str:
    """`embedded`, `docker` or `external`; ConfigurationError for another word, or `external` without addresses."""
    external = external_servers(environment)
    choice = environment.get(CHOICE) or "embedded"
    if choice not in ("embedded", "docker", "external"):
        raise ConfigurationError(f"{CHOICE}={choice}: expected embedded, docker or external")
    if choice == "external" and external is None:
        raise ConfigurationError(f"{CHOICE}=external needs {DATABASE_URL} and {KAFKA_BOOTSTRAP_SERVERS}")
    return "external" if external is not None else choice


@asynccontextmanager
async def selected_servers(
    data_dir: Path,
    *,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    postgres_settings: Mapping[str, str] | None = None,
) -> AsyncIterator[Servers]:
    """The servers that `environment` chooses, with nothing kept of ours afterwards.

    External ones are used as they are: nothing is started, and `postgres_settings` do not apply.
    """
    choice = server_choice(environment)
    external = external_servers(environment)
    if external is not None:
        yield external
    elif choice == "docker":
        async with container_servers(postgres_settings=postgres_settings) as servers:
            yield servers
    else:
        async with embedded_servers(data_dir, say=say, keep=False, postgres_settings=postgres_settings) as servers:
            yield servers
