"""What `intention` says without any server: settings, exit codes, failpoints, and how little it loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from intention_kernel.cli.exit_codes import EXIT_CODES
from intention_kernel.failpoints import FAILPOINTS
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.state import write_state

from tests.cli.invoking import environment, intention, script_environment


@pytest.fixture(autouse=True)
def _empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_missing_settings_are_all_listed_with_what_to_do() -> None:
    said = intention("migrate")
    assert said.code == 2
    for part in ("INTENTION_DATABASE_URL", "INTENTION_KAFKA_BOOTSTRAP_SERVERS", "intention dev"):
        assert part in said.err


def test_wrong_settings_are_all_listed() -> None:
    said = intention("migrate", env=environment("mysql://x", "nowhere", "a b"))
    assert said.code == 2
    assert len(said.err.splitlines()) == 3
    for part in ("INTENTION_DATABASE_URL", "INTENTION_KAFKA_BOOTSTRAP_SERVERS", "INTENTION_TOPIC_PREFIX"):
        assert part in said.err


def test_addresses_come_from_the_file_of_dev_and_it_says_so(tmp_path: Path) -> None:
    (tmp_path / ".intention").mkdir()
    write_state(tmp_path / ".intention", Servers("postgresql://127.0.0.1:1/nothing", "127.0.0.1:1"))
    said = intention("thread", "show", "t")
    assert said.code == 1
    assert ".intention/env" in said.err
    assert "Postgres at 127.0.0.1:1" in said.err


def test_the_file_of_dev_never_completes_an_environment_that_names_one_server(tmp_path: Path) -> None:
    (tmp_path / ".intention").mkdir()
    write_state(tmp_path / ".intention", Servers("postgresql://127.0.0.1:1/nothing", "127.0.0.1:1"))
    said = intention("migrate", env=environment(bootstrap="127.0.0.1:1"))
    assert said.code == 2
    assert "INTENTION_DATABASE_URL is not set" in said.err


def test_a_broker_that_is_away_is_one_message() -> None:
    said = intention("events", env=environment(bootstrap="127.0.0.1:1"))
    assert said.code == 1
    assert "Kafka at 127.0.0.1:1" in said.err
    assert "Traceback" not in said.err


def test_a_database_password_is_not_shown() -> None:
    said = intention("thread", "show", "t", env=environment("postgresql://me:secret@127.0.0.1:1/nothing"))
    assert said.code == 1
    assert "secret" not in said.err


def test_help_lists_every_exit_code() -> None:
    said = intention("help", "exit-codes")
    assert said.code == 0
    assert {int(line.split()[0]) for line in said.lines} == set(EXIT_CODES) >= {0, 1, 2, 4, 5, 8, 9, 130}


def test_failpoints_lists_every_name_with_its_meaning() -> None:
    said = intention("failpoints")
    assert said.code == 0
    assert dict(line.split("  ", 1) for line in said.lines).keys() == FAILPOINTS.keys()
    assert all(meaning in said.out for meaning in FAILPOINTS.values())


@pytest.mark.parametrize(
    "command",
    [
        *("dev", "migrate", "send", "chat", "events", "turn", "thread", "receipts", "queue", "rejected"),
        *("users", "roles", "tokens"),
    ],
)
def test_every_command_explains_itself(command: str) -> None:
    assert f"  {command} " in intention("--help").out
    said = intention(command, "--help")
    assert (said.code, said.err) == (0, "")


def test_an_id_that_cannot_be_one_is_a_usage_error() -> None:
    assert intention("thread", "show", "a\nb").code == 2
    assert intention("send", "x" * 201, "hello").code == 2


def test_help_loads_no_driver() -> None:
    program = (
        "import sys; from intention_kernel.cli.main import run; assert run(['--help']) == 0; "
        "print(sorted({'argon2', 'asyncpg', 'aiokafka', 'alembic', 'sqlalchemy', 'pydantic', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=script_environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("left", ["bytes that are no text", "a directory"])
def test_a_file_of_dev_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ".intention" / "env"
    file.parent.mkdir()
    if left == "a directory":
        file.mkdir()
    else:
        file.write_bytes(b"\xff\xfe")
    said = intention("queue", "ls", env=environment())
    assert said.code == 2
    assert ".intention/env cannot be read" in said.err
