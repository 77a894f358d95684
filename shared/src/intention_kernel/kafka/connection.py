"""How a client reaches the brokers: the bootstrap list, and the driver's errors as our one infrastructure error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka.errors import KafkaError

from intention_kernel.errors import ConfigurationError, InfrastructureError


def parse_bootstrap_servers(text: str) -> tuple[str, ...]:
    """`host:port` entries, separated by commas, an IPv6 host in brackets.

    Raises ConfigurationError with every wrong entry.
    """
    entries = tuple(part.strip() for part in text.split(",") if part.strip())
    problems = [problem for entry in entries if (problem := _problem(entry))]
    if not entries:
        problems = ["INTENTION_KAFKA_BOOTSTRAP_SERVERS: no server named; give host:port, several separated by commas"]
    if problems:
        raise ConfigurationError(*problems)
    return entries


@contextmanager
def broker_errors(doing: str) -> Iterator[None]:
    """Turns what the driver and the socket raise into InfrastructureError: nothing was decided, ask again."""
    try:
        yield
    except (KafkaError, OSError, TimeoutError) as error:
        raise InfrastructureError(f"{doing}: {error or type(error).__name__}") from error


def _problem(entry: str) -> str | None:
    host, _, port = entry.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        return f"INTENTION_KAFKA_BOOTSTRAP_SERVERS: {entry!r} is not host:port"
    if ":" in host and not bracketed:
        return f"INTENTION_KAFKA_BOOTSTRAP_SERVERS: {entry!r}: write an IPv6 address in brackets"
    return None
