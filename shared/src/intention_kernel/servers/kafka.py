"""A real Apache Kafka on loopback: one KRaft node, one JVM, its data kept in a folder of its own.

Anybody on this machine may connect: this is for development and tests.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from intention_kernel.errors import ConfigurationError
from intention_kernel.ids import random_id
from intention_kernel.servers.broker_probe import answers_api_versions, cluster_id
from intention_kernel.servers.jars import KAFKA_VERSION, kafka_class_path
from intention_kernel.servers.java import Java, find_java
from intention_kernel.servers.ports import LOOPBACK, free_port
from intention_kernel.servers.startup import Startup, start_on_a_free_port
from intention_kernel.servers.supervisor import Child, Command, run, start

_LOGGING = """\
status=error
appender.console.type=Console
appender.console.name=STDOUT
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=warn
rootLogger.appenderRef.stdout.ref=STDOUT
logger.server.name=kafka.server.KafkaRaftServer
logger.server.level=info
"""


def broker_properties(listeners: Mapping[str, str]) -> dict[str, str]:
    """One broker that is its own controller, small and quick; `listeners` are the lines about addresses."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        **listeners,
        "controller.listener.names": "CONTROLLER",
        "default.replication.factor": "1",
        "min.insync.replicas": "1",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        "auto.create.topics.enable": "false",
        "message.max.bytes": "10485760",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "log.cleaner.threads": "1",
        "log.cleaner.dedupe.buffer.size": "8388608",
        "log.segment.bytes": "67108864",
        # Back in 3.5 s instead of 11.5 s after a kill: the controller waits for the old incarnation's session.
        "broker.session.timeout.ms": "2000",
        "broker.heartbeat.interval.ms": "500",
    }


@dataclass(frozen=True, slots=True)
class KafkaPlace:
    """Where one broker lives and how it runs; `lock` is the descriptor of the data directory's lock."""

    data_dir: Path
    java: Java
    class_path: str
    lock: int

    @property
    def folder(self) -> Path:
        return self.data_dir / "kafka"

    @property
    def log(self) -> Path:
        return self.data_dir / "kafka.log"

    @property
    def properties(self) -> Path:
        return self.folder / "server.properties"

    def cluster_id(self) -> str:
        """As the formatted data folder holds it."""
        lines = (self.folder / "data" / "meta.properties").read_text("ascii").splitlines()
        return next(line.partition("=")[2] for line in lines if line.startswith("cluster.id="))

    def command(self, options: list[str], *arguments: str) -> Command:
        """Run one of Kafka's main classes in a JVM that starts fast."""
        common = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *self.java.quiet_options()]
        logging = f"-Dlog4j2.configurationFile={(self.folder / 'log4j2.properties').as_uri()}"
        java = [str(self.java.executable), *options, *common, logging, "-cp", self.class_path]
        return Command(arguments=(*java, *arguments), log=self.log)


def new_cluster_id() -> str:
    """22 characters of URL-safe base64, as Kafka wants it; a leading dash would read as an option."""
    text = base64.urlsafe_b64encode(random_id().bytes).rstrip(b"=").decode("ascii")
    return text if not text.startswith("-") else f"A{text[1:]}"


def _write_configuration(place: KafkaPlace, port: int) -> None:
    controller = free_port()
    listeners = {
        # Static voters: the ports may change between runs.
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": str(place.folder / "data"),
    }
    lines = [f"{name}={value}" for name, value in broker_properties(listeners).items()]
    place.properties.write_text("\n".join(lines) + "\n", "utf-8")
    (place.folder / "log4j2.properties").write_text(_LOGGING, "utf-8")


async def _format(place: KafkaPlace, say: Callable[[str], None]) -> None:
    """Give a new data folder its cluster id; an existing one is left as it is."""
    if (place.folder / "data" / "meta.properties").exists():
        return
    say("creating the Kafka data directory")
    arguments = ("format", "-t", new_cluster_id(), "-c", str(place.properties), "--ignore-formatted")
    command = place.command(["-Xmx128m"], "kafka.tools.StorageTool", *arguments)
    code, output = await run(command, held_open=(place.lock,))
    if code != 0:
        raise ConfigurationError(f"Kafka could not create {place.folder / 'data'}:\n{output}")


async def _answers(place: KafkaPlace, port: int) -> bool:
    """True when our own broker there serves requests."""
    if not await answers_api_versions(LOOPBACK, port):
        return False
    return await cluster_id(LOOPBACK, port) == place.cluster_id()


def _server_command(place: KafkaPlace) -> Command:
    memory = ["-Xms128m", "-Xmx512m", "-XX:-UsePerfData", "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true"]
    return place.command(memory, "kafka.Kafka", str(place.properties))


async def _launch(place: KafkaPlace, port: int, say: Callable[[str], None]) -> Child:
    _write_configuration(place, port)
    await _format(place, say)
    return await start(_server_command(place), held_open=(place.lock,))


async def _start(place: KafkaPlace, say: Callable[[str], None]) -> tuple[Child, str]:
    child, port = await start_on_a_free_port(
        Startup(
            name="Kafka",
            data=place.folder,
            port_file=place.data_dir / "kafka.port",
            launch=lambda port: _launch(place, port, say),
            answers=lambda port: _answers(place, port),
            address_taken=("Address already in use", "failed to bind"),
        )
    )
    return child, f"{LOOPBACK}:{port}"


@dataclass(frozen=True, slots=True)
class RunningKafka:
    """A broker that answers."""

    bootstrap_servers: str
    child: Child


@asynccontextmanager
async def kafka_server(
    data_dir: Path, *, lock: int, jar_cache: Path, say: Callable[[str], None]
) -> AsyncIterator[RunningKafka]:
    """Kafka with its data in `data_dir/kafka`, which is kept; ready means that it answers requests.

    Jars missing in `jar_cache` are fetched first. `lock` is the descriptor that `directory_lock` yielded. Raises
    ConfigurationError for what is missing or in the way.
    """
    java = await find_java()
    class_path = await kafka_class_path(jar_cache, say)
    place = KafkaPlace(data_dir, java, class_path, lock)
    place.folder.mkdir(exist_ok=True)
    child, bootstrap_servers = await _start(place, say)
    try:
        say(f"Kafka {KAFKA_VERSION} answers")
        yield RunningKafka(bootstrap_servers, child)
    finally:
        await child.stop()
