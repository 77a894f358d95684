"""Postgres under our supervisor: what survives, what is refused, who it runs as."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest
from intention_kernel.errors import ConfigurationError
from intention_kernel.servers import postgres, startup
from intention_kernel.servers.identity import Identity, as_nobody, closed_folder
from intention_kernel.servers.lock import directory_lock
from intention_kernel.servers.postgres import find_binaries, postgres_server

from tests.servers.foreground import is_running, wait_until

_NOBODY_CAN = os.geteuid() == 0 and closed_folder(find_binaries() / "postgres") is None


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A directory that other users may enter, which pytest's own is not."""
    with tempfile.TemporaryDirectory(prefix="intention-postgres-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


async def _query(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


def _postmaster(data_dir: Path) -> psutil.Process:
    return psutil.Process(int((data_dir / "pg18" / "postmaster.pid").read_text().partition("\n")[0]))


@pytest.mark.parametrize("user", ["default", *(["nobody"] if _NOBODY_CAN else [])])
async def test_rows_survive_kill_9_even_when_another_process_has_the_old_pid(
    open_dir: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if user == "nobody":

        async def nobody(binaries: Path, data_dir: Path) -> Identity:
            return as_nobody(binaries, data_dir)

        monkeypatch.setattr(postgres, "postgres_identity", nobody)
    async with directory_lock(open_dir, print) as lock, postgres_server(open_dir, lock=lock, say=print) as running:
        await _query(running.database_url, "CREATE TABLE kept AS SELECT 7 AS id")
        server = _postmaster(open_dir)
        assert server.username() == (user if user == "nobody" else psutil.Process().username())
        server.send_signal(signal.SIGKILL)
        assert await running.child.wait() == 128 + signal.SIGKILL
    pid_file = open_dir / "pg18" / "postmaster.pid"
    _, _, rest = pid_file.read_text().partition("\n")
    pid_file.write_text(f"{os.getpid()}\n{rest}")
    async with directory_lock(open_dir, print) as lock, postgres_server(open_dir, lock=lock, say=print) as running:
        assert await _query(running.database_url, "SELECT id FROM kept") == 7
        server = _postmaster(open_dir)
    wait_until(lambda: not is_running(server), seconds=5, what="the end of Postgres")


async def test_the_directory_stays_locked_until_postgres_itself_is_gone(tmp_path: Path) -> None:
    async with directory_lock(tmp_path, print) as lock, postgres_server(tmp_path, lock=lock, say=print):
        assert str(tmp_path / "lock") in {file.path for file in _postmaster(tmp_path).open_files()}


async def test_settings_are_taken_and_only_loopback_listens(tmp_path: Path) -> None:
    settings = {"max_connections": "37"}
    async with (
        directory_lock(tmp_path, print) as lock,
        postgres_server(tmp_path, lock=lock, say=print, settings=settings) as running,
    ):
        assert await _query(running.database_url, "SHOW max_connections") == "37"
        assert await _query(running.database_url, "SHOW wal_level") == "replica"
        assert await _query(running.database_url, "SHOW unix_socket_directories") == ""
        listening = {c.laddr.ip for c in _postmaster(tmp_path).net_connections() if c.status == psutil.CONN_LISTEN}
        assert listening == {"127.0.0.1"}


async def test_a_port_that_is_taken_is_given_up_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(startup, "remembered_port", lambda file: port)
        async with (
            directory_lock(tmp_path, print) as lock,
            postgres_server(tmp_path, lock=lock, say=print) as running,
        ):
            assert await _query(running.database_url, "SELECT 1") == 1
            assert f":{port}/" not in running.database_url


async def test_a_setting_that_postgres_refuses_is_shown_in_its_own_words(tmp_path: Path) -> None:
    async with directory_lock(tmp_path, print) as lock:
        with pytest.raises(ConfigurationError, match='unrecognized configuration parameter "nonsense"'):
            async with postgres_server(tmp_path, lock=lock, say=print, settings={"nonsense": "1"}):
                pass


@pytest.mark.parametrize(("folder", "version"), [("pg17", "17"), ("pg18", "17")])
async def test_data_of_another_major_version_is_refused(tmp_path: Path, folder: str, version: str) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "PG_VERSION").write_text(f"{version}\n")
    async with directory_lock(tmp_path, print) as lock:
        with pytest.raises(ConfigurationError, match=f"{folder} holds data of"):
            async with postgres_server(tmp_path, lock=lock, say=print):
                pass


def test_a_folder_that_nobody_cannot_enter_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "data").mkdir(parents=True)
    tmp_path.chmod(0o755)
    closed.chmod(0o700)
    with pytest.raises(ConfigurationError, match="user namespaces are off") as refused:
        as_nobody(closed / "bin", closed / "data")
    assert str(closed_folder(closed / "data")) in str(refused.value)
