"""Would the relay run here? Looks at everything that it needs and changes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from intention_kernel.clock import SystemClock
from intention_kernel.errors import ConfigurationError, InfrastructureError
from intention_kernel.kafka.publisher import KafkaPublisher
from intention_kernel.kafka.topics import missing_topics
from intention_kernel.postgres.outbox_connections import require_migrated

from outbox_relay.settings import RelaySettings


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at; `problem` None when it is well."""

    subject: str
    problem: str | None


async def check(settings: RelaySettings) -> Sequence[Finding]:
    """One finding each for the database with its schema, the broker, and the topics."""
    return (
        await _finding("database and schema", lambda: _database(settings)),
        await _finding("broker", lambda: _broker(settings)),
        await _finding("topics", lambda: require_topics(settings)),
    )


async def require_topics(settings: RelaySettings) -> None:
    """Raises ConfigurationError where a topic is missing, InfrastructureError where the broker is away."""
    missing = await missing_topics(settings.kafka_bootstrap_servers, settings.topic_prefix)
    if missing:
        raise ConfigurationError(f"topics are missing ({', '.join(missing)}): run `intention migrate`")


async def _database(settings: RelaySettings) -> None:
    await require_migrated(settings.database_url)


async def _broker(settings: RelaySettings) -> None:
    publisher = KafkaPublisher(settings.kafka_bootstrap_servers, settings.topic_prefix, SystemClock())
    await publisher.start()
    await publisher.stop()


async def _finding(subject: str, look: Callable[[], Awaitable[None]]) -> Finding:
    try:
        await look()
    except (ConfigurationError, InfrastructureError) as error:
        return Finding(subject, str(error))
    return Finding(subject, None)
