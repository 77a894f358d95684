"""Wires a turn-runner together; the only module that names its adapters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from intention_kernel.agent.agent import Agent
from intention_kernel.agent.compiled import AnyAgent
from intention_kernel.agent.effect import Ports
from intention_kernel.application.definition import Application
from intention_kernel.application.loading import load_application, open_ports
from intention_kernel.clock import Clock, SystemClock
from intention_kernel.contracts.topics import Topics
from intention_kernel.durability.durability import Durability, TurnLimits
from intention_kernel.durability.process import ProcessIdentity
from intention_kernel.errors import ConfigurationError
from intention_kernel.ids import random_id
from intention_kernel.kafka.topics import partition_counts
from intention_kernel.kafka.traces import KafkaTraces
from intention_kernel.models.closing import closed_at_the_end
from intention_kernel.ports.partition_progress import ProgressStore
from intention_kernel.ports.turn_body import TurnBody
from intention_kernel.postgres.reading import open_reading
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.runtime.agent_body import AgentBody
from intention_kernel.runtime.events import Observers
from intention_kernel.runtime.program_body import ProgramBody

from turn_runner.compatibility import stranded_by
from turn_runner.consumer import KeyOrderedConsumer
from turn_runner.handler import TurnHandler
from turn_runner.limits import ConsumerLimits
from turn_runner.settings import RunnerSettings

_TRACES_STOP_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Runner:
    """A wired runner; `consumer` is not started yet."""

    consumer: KeyOrderedConsumer
    handler: TurnHandler
    durability: Durability
    store: PostgresStore
    process: ProcessIdentity


@asynccontextmanager
async def wired_runner(settings: RunnerSettings) -> AsyncIterator[Runner]:
    """Everything a runner needs, opened; closed again in reverse.

    Raises ConfigurationError, SchemaVersionError among them, and InfrastructureError.
    """
    application = load_application(settings.application)
    clock, topics = SystemClock(), Topics(settings.topic_prefix)
    boot = random_id()
    process = ProcessIdentity(settings.instance or boot.hex, boot)
    traces = KafkaTraces(settings.kafka_bootstrap_servers, topics.traces)
    async with (
        closed_at_the_end(application.gateway),
        open_ports(application) as ports,
        PostgresStore.open(settings.database_url, pool_size=settings.pool_size) as store,
    ):
        await _check_partitions(settings, store)
        await traces.start()
        observers = Observers(traces, application.event_sinks, application.redact)
        limits = TurnLimits(settings.lease_seconds, settings.turn_attempts)
        durability = Durability(store, clock, limits, process)
        bodies = {
            agent.id: _body(agent, application, ports, observers, clock, settings.turn_timeout_seconds)
            for agent in application.agents
        }
        handler = TurnHandler(durability, store, bodies, observers, clock, settings.held_seconds)
        yield Runner(_consumer(settings, topics, handler, clock, store), handler, durability, store, process)
        await traces.stop(_TRACES_STOP_SECONDS)


@asynccontextmanager
async def started_runner(settings: RunnerSettings) -> AsyncIterator[Runner]:
    """A wired runner whose consumer has its partitions. Errors as `wired_runner`.

    This life of the instance is on record: its start proves an older life dead, its clean end proves its own (R22 c).
    """
    async with wired_runner(settings) as runner:
        instance, boot = runner.process.instance, runner.process.boot
        await runner.store.record_start(instance, boot)
        await runner.consumer.start()
        yield runner
        if not runner.durability.abandoned.pending:
            await runner.store.record_stop(instance, boot)


def _consumer(
    settings: RunnerSettings, topics: Topics, handler: TurnHandler, clock: SystemClock, progress: ProgressStore
) -> KeyOrderedConsumer:
    return KeyOrderedConsumer(
        handler,
        bootstrap_servers=settings.kafka_bootstrap_servers,
        topic=topics.requests,
        group=topics.consumer_group(settings.consumer_group),
        clock=clock,
        progress=progress,
        limits=ConsumerLimits(
            in_flight=settings.in_flight,
            session_timeout_seconds=settings.session_timeout_seconds,
            rebalance_timeout_seconds=max(settings.session_timeout_seconds, 3.0),
        ),
    )


async def _check_partitions(settings: RunnerSettings, store: PostgresStore) -> None:
    """Another count would send a thread's requests elsewhere, and its order with them (interface 2)."""
    topic = Topics(settings.topic_prefix).requests
    found = (await partition_counts(settings.kafka_bootstrap_servers, [topic])).get(topic)
    if found is None:
        raise ConfigurationError(f"topic {topic} does not exist: run `intention migrate`")
    stored = store.installation.partition_count
    if found != stored:
        raise ConfigurationError(
            f"topic {topic} has {found} partitions and the database was migrated for {stored}: "
            "partitions must not change; restore the topic or migrate a new installation"
        )


def described(application: Application) -> str:
    """The application's agents and fingerprints, for `check`."""
    return "\n".join(f"agent {agent.id} fingerprint {agent.fingerprint}" for agent in application.agents)


async def stranded(settings: RunnerSettings) -> tuple[str, ...]:
    """What of the database this build could not go on with, for `check`: `compatibility.stranded_by`.

    Raises ConfigurationError and InfrastructureError.
    """
    application = load_application(settings.application)
    async with open_reading(settings.database_url) as reading:
        return stranded_by(application.agents, await reading.threads_of_builds(), await reading.open_effects())


def _body(
    agent: AnyAgent, application: Application, ports: Ports, observers: Observers, clock: Clock, timeout_seconds: float
) -> TurnBody:
    if isinstance(agent, Agent):
        return ProgramBody(agent, agent.fingerprint, ports, observers, clock, timeout_seconds)
    if application.gateway is None:
        raise ConfigurationError(f"agent {agent.id!r} asks models, and the application has no gateway")
    return AgentBody(agent, application.gateway, ports, observers, clock, timeout_seconds)
