"""Kafka under our supervisor: what survives, where it listens, which broker it takes for its own."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from intention_kernel.servers import startup
from intention_kernel.servers.broker_probe import answers_api_versions, cluster_id
from intention_kernel.servers.jars import default_jar_cache
from intention_kernel.servers.kafka import RunningKafka, kafka_server, new_cluster_id
from intention_kernel.servers.lock import directory_lock

from tests.support.servers import SharedServers


@asynccontextmanager
async def _kafka(data_dir: Path) -> AsyncIterator[RunningKafka]:
    async with (
        directory_lock(data_dir, print) as lock,
        kafka_server(data_dir, lock=lock, jar_cache=default_jar_cache(), say=print) as running,
    ):
        yield running


def _broker(data_dir: Path) -> psutil.Process:
    properties = str(data_dir / "kafka" / "server.properties")
    below = psutil.Process().children(recursive=True)
    return next(process for process in below if "java" in process.name() and properties in process.cmdline())


async def _produce(bootstrap_servers: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers)
    await admin.start()  # type: ignore[no-untyped-call]  # the driver is half typed
    await admin.create_topics([NewTopic(topic, 1, 1)])  # type: ignore[no-untyped-call]
    await admin.close()  # type: ignore[no-untyped-call]
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap_servers, enable_idempotence=True)  # type: ignore[no-untyped-call]
    async with producer:
        await producer.send_and_wait(topic, b"kept")  # type: ignore[no-untyped-call]


async def _first_value(bootstrap_servers: str, topic: str) -> bytes | None:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap_servers, auto_offset_reset="earliest")  # type: ignore[no-untyped-call]
    async with consumer:
        record = await consumer.getone()
        value: bytes | None = record.value
        return value


async def test_records_survive_kill_9_and_a_port_that_is_taken_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _kafka(tmp_path) as running:
        await _produce(running.bootstrap_servers, "kept")
        broker = _broker(tmp_path)
        listening = {c.laddr.ip.removeprefix("::ffff:") for c in broker.net_connections() if c.status == "LISTEN"}
        assert listening == {"127.0.0.1"}
        broker.kill()
        await running.child.wait()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(startup, "remembered_port", lambda file: port)
        async with _kafka(tmp_path) as running:
            assert running.bootstrap_servers != f"127.0.0.1:{port}"
            assert await _first_value(running.bootstrap_servers, "kept") == b"kept"


async def test_a_port_that_another_broker_has_is_not_taken_for_ours(
    tmp_path: Path, servers: SharedServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _, port = servers.kafka_bootstrap_servers.partition(":")
    assert await answers_api_versions(host, int(port))
    monkeypatch.setattr(startup, "remembered_port", lambda file: int(port))
    async with _kafka(tmp_path) as running:
        ours = int(running.bootstrap_servers.partition(":")[2])
        assert ours != int(port)
        assert await cluster_id("127.0.0.1", ours) not in (None, await cluster_id(host, int(port)))


async def test_an_open_port_that_does_not_answer_is_not_a_broker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not await answers_api_versions("127.0.0.1", silent.getsockname()[1])
        assert await cluster_id("127.0.0.1", silent.getsockname()[1]) is None


def test_a_cluster_id_is_22_characters_and_no_option() -> None:
    ids = {new_cluster_id() for _ in range(200)}
    assert len(ids) == 200
    assert all(len(one) == 22 and not one.startswith("-") for one in ids)
