"""The process around the relay: settings, schema, check, health."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys

import pytest

from tests.relay.relay_bench import Bench, RelayProcess, until


async def _run(*words: str, **environment: str) -> tuple[int, str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("INTENTION_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "outbox_relay", *words,
        env=clean | environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def _environment(bench: Bench) -> dict[str, str]:
    return {
        "INTENTION_DATABASE_URL": bench.database_url,
        "INTENTION_KAFKA_BOOTSTRAP_SERVERS": bench.bootstrap,
        "INTENTION_TOPIC_PREFIX": bench.prefix,
    }


@pytest.mark.parametrize("command", ["run", "check"])
async def test_wrong_settings_are_all_listed_and_exit_2(command: str) -> None:
    code, out, err = await _run(command, INTENTION_LEASE_SECONDS="soon", INTENTION_HTTP_PORT="70000")
    assert code == 2
    assert not out
    assert [line.split(":")[0] for line in err.splitlines()] == [
        f"INTENTION_{name}" for name in ("DATABASE_URL", "KAFKA_BOOTSTRAP_SERVERS", "HTTP_PORT", "LEASE_SECONDS")
    ]


async def test_a_wrong_failpoint_or_bootstrap_list_exits_2(bench: Bench) -> None:
    environment = _environment(bench)
    code, _, err = await _run("run", **environment, INTENTION_FAILPOINTS="relay.never=kill")
    assert (code, "unknown failpoint" in err) == (2, True)
    code, _, err = await _run("run", **environment | {"INTENTION_KAFKA_BOOTSTRAP_SERVERS": "kafka"})
    assert (code, "'kafka' is not host:port" in err) == (2, True)


async def test_a_database_that_is_not_migrated_is_refused_with_the_command_to_run(bench: Bench) -> None:
    await bench.database.execute("drop table alembic_version")
    code, out, err = await _run("run", **_environment(bench))
    assert code == 2
    assert not out
    assert "run `intention migrate`" in err


async def test_missing_topics_are_named_and_exit_2(bench: Bench) -> None:
    code, _, err = await _run("run", **_environment(bench) | {"INTENTION_TOPIC_PREFIX": "nobody-made-these."})
    assert code == 2
    assert "nobody-made-these.turns.events" in err
    assert "intention migrate" in err


async def test_check_says_what_is_well_and_what_is_not(bench: Bench) -> None:
    code, out, _ = await _run("check", **_environment(bench))
    assert (code, out.count("ok  ")) == (0, 3)
    code, out, _ = await _run("check", **_environment(bench) | {"INTENTION_DATABASE_URL": "postgresql://127.0.0.1:1/x"})
    assert (code, out.count("ok  ")) == (10, 2)
    assert "problem database and schema" in out


async def test_a_relay_tells_whether_it_lives_and_is_ready(bench: Bench) -> None:
    async with bench.relay() as relay:
        port = await relay.ready()
        assert (await relay.get(port, "/livez")).text == "ok\n"
        assert (await relay.get(port, "/readyz")).text == "ok\n"
        assert "intention_relay_shards_owned 64.0" in (await relay.get(port, "/metrics")).text
        assert (await relay.get(port, "/elsewhere")).status_code == 404


async def test_help_lists_every_setting() -> None:
    code, out, _ = await _run("--help")
    assert code == 0
    assert "INTENTION_LEASE_SECONDS (15)" in out
    assert "INTENTION_DATABASE_URL" in out


async def test_a_relay_whose_servers_are_away_waits_says_so_and_stops_when_told(unused_port: int) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "outbox_relay", "run",
        env=os.environ | {
            "INTENTION_DATABASE_URL": "postgresql://127.0.0.1:1/nothing",
            "INTENTION_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
            "INTENTION_HTTP_PORT": str(unused_port),
        },
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    relay = RelayProcess(process)
    await until(lambda: any("connecting to Postgres" in line for line in relay.log), "a word about the database")
    assert (await relay.get(unused_port, "/livez")).status_code == 200
    answer = await relay.get(unused_port, "/readyz")
    assert answer.status_code == 503
    assert "connecting to Postgres" in answer.text
    assert await relay.end() == 0
    line = json.loads(relay.log[0])
    assert (line["process"], line["level"]) == ("outbox-relay", "warning")


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
