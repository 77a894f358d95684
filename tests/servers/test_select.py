"""INTENTION_TEST_SERVERS, and that external addresses always win."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from intention_kernel.errors import ConfigurationError
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.containers import START_SCRIPT, kafka_environment
from intention_kernel.servers.kafka import broker_properties
from intention_kernel.servers.select import selected_servers, server_choice

from tests.servers.stand_in_engine import stand_in_engine
from tests.support.servers import SharedServers

_ADDRESSES = {
    "INTENTION_DATABASE_URL": "postgresql://db.example/x",
    "INTENTION_KAFKA_BOOTSTRAP_SERVERS": "kafka.example:9092",
}


@pytest.mark.parametrize("choice", ["", "embedded", "docker", "external"])
async def test_external_addresses_win_and_nothing_is_started(tmp_path: Path, choice: str) -> None:
    environment = {**_ADDRESSES, "INTENTION_TEST_SERVERS": choice}
    async with selected_servers(tmp_path / "data", environment=environment, say=print) as servers:
        assert servers == Servers("postgresql://db.example/x", "kafka.example:9092")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("environment", "choice"),
    [({}, "embedded"), ({"INTENTION_TEST_SERVERS": "docker"}, "docker"), ({"INTENTION_TEST_SERVERS": ""}, "embedded")],
)
def test_embedded_is_the_default(environment: dict[str, str], choice: str) -> None:
    assert server_choice(environment) == choice


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"INTENTION_TEST_SERVERS": "podman"}, "expected embedded, docker or external"),
        ({"INTENTION_TEST_SERVERS": "external"}, "external needs INTENTION_DATABASE_URL and INTENTION_KAFKA"),
        ({"INTENTION_DATABASE_URL": "postgresql://x"}, "INTENTION_KAFKA_BOOTSTRAP_SERVERS is not set"),
        ({"INTENTION_KAFKA_BOOTSTRAP_SERVERS": "x:1"}, "INTENTION_DATABASE_URL is not set"),
    ],
)
def test_a_choice_that_cannot_work_is_refused(environment: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        server_choice(environment)


async def test_docker_asks_the_engine_for_both_official_images(
    tmp_path: Path, servers: SharedServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka_port = int(servers.kafka_bootstrap_servers.partition(":")[2])
    database_port = urlsplit(servers.database_url).port
    assert database_port is not None
    with stand_in_engine({"5432/tcp": database_port, "9092/tcp": kafka_port}) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.address)
        monkeypatch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
        monkeypatch.setenv("TESTCONTAINERS_CONNECTION_MODE", "docker_host")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        async with selected_servers(
            tmp_path,
            environment={"INTENTION_TEST_SERVERS": "docker"},
            say=print,
            postgres_settings={"max_connections": "300"},
        ) as started:
            assert started == Servers(
                f"postgresql://postgres:postgres@127.0.0.1:{database_port}/intention", f"127.0.0.1:{kafka_port}"
            )
            assert engine.removed == []
    postgres, kafka = engine.created
    assert (postgres["Image"], postgres["Cmd"]) == ("postgres:18", ["postgres", "-c", "max_connections=300"])
    assert (kafka["Image"], kafka["Entrypoint"]) == ("apache/kafka:4.3.1", ["sh", "-c"])
    assert any("psql" in command for command in engine.commands)
    script = engine.files[START_SCRIPT]
    assert f"KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://127.0.0.1:{kafka_port},BROKER://localhost:9093\n" in script
    assert script.endswith("exec /etc/kafka/docker/run\n")
    assert sorted(engine.removed) == ["0", "1"]


async def test_without_an_engine_the_error_names_the_choice_that_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    with pytest.raises(ConfigurationError, match="INTENTION_TEST_SERVERS=embedded needs none"):
        async with selected_servers(tmp_path, environment={"INTENTION_TEST_SERVERS": "docker"}, say=print):
            pass


def test_the_container_has_the_settings_of_the_embedded_broker() -> None:
    environment = kafka_environment()
    for name, value in broker_properties({}).items():
        assert environment["KAFKA_" + name.upper().replace(".", "_")] == value
