"""The servers end with the process that started them, and no two runs share a data directory."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest
from intention_kernel.servers.state import read_state

from tests.servers.foreground import foreground_servers, servers_command, wait_until


async def _count_after_insert(data_dir: Path) -> int:
    servers = read_state(data_dir)
    assert servers is not None
    connection = await asyncpg.connect(servers.database_url)
    try:
        await connection.execute("CREATE TABLE IF NOT EXISTS kept (id int)")
        await connection.execute("INSERT INTO kept VALUES (1)")
        return int(await connection.fetchval("SELECT count(*) FROM kept"))
    finally:
        await connection.close()


def test_a_second_run_on_the_directory_is_refused_by_the_pid_of_the_first(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with foreground_servers(data_dir) as first:
        second = subprocess.run(servers_command(data_dir), capture_output=True, timeout=60, check=False)
        assert second.returncode == 2
        assert f"in use by process {first.process.pid}" in second.stderr.decode()
        assert b"Traceback" not in second.stderr

        first.process.send_signal(signal.SIGTERM)
        assert first.process.wait(30) == 0
        first.wait_until_nothing_is_left()
        assert read_state(data_dir) is None


async def test_after_kill_9_of_the_parent_nothing_is_left_and_the_next_run_keeps_the_rows(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with foreground_servers(data_dir) as first:
        assert await _count_after_insert(data_dir) == 1
        assert len(first.of("guardian.py")) == 2
        addresses = read_state(data_dir)
        first.process.kill()
        # At once: it waits for what the killed run left behind.
        with foreground_servers(data_dir) as second:
            first.wait_until_nothing_is_left()
            assert read_state(data_dir) == addresses, "a restart keeps its addresses"
            assert await _count_after_insert(data_dir) == 2
            second.process.send_signal(signal.SIGINT)
            assert second.process.wait(30) == 0
            second.wait_until_nothing_is_left()


@pytest.mark.parametrize("victim", ["postgres", "java", *(["guardian.py"] if sys.platform == "linux" else [])])
def test_a_server_that_dies_ends_the_run_and_the_other_server(tmp_path: Path, victim: str) -> None:
    with foreground_servers(tmp_path / "data") as servers:
        servers.of(victim)[0].kill()
        assert servers.process.wait(60) == 1
        servers.wait_until_nothing_is_left()
        wait_until(lambda: "stopped by itself" in servers.output.read_text(), seconds=5, what="who stopped")
