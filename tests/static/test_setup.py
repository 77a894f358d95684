"""What `make` says on a machine whose Python will not do; set-up itself is what every test run begins with."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.static.project import ROOT

_TOOLS = ("sh", "make", "cat", "cksum", "dirname", "flock", "mkdir", "rm")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the files that set-up reads, without an environment, beside an empty folder of programs."""
    for name in ("Makefile", "scripts/setup.sh", "pyproject.toml", "constraints.txt", "constraints-uv.txt"):
        target = tmp_path / "checkout" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    for path in [ROOT / "shared", *(ROOT / "services").iterdir()]:
        target = tmp_path / "checkout" / path.relative_to(ROOT)
        target.mkdir(parents=True)
        shutil.copy(path / "pyproject.toml", target)
    programs = tmp_path / "bin"
    programs.mkdir()
    for tool in _TOOLS:
        if found := shutil.which(tool):
            (programs / tool).symlink_to(found)
    return tmp_path / "checkout"


def _add_python(checkout: Path, name: str, version: str, status: int) -> None:
    """Put an interpreter on the path that answers the probe of set-up, with 3 for too old and 4 for no venv."""
    program = checkout.parent / "bin" / name
    program.write_text(f"#!/bin/sh\nprintf {version}\nexit {status}\n", encoding="utf-8")
    program.chmod(0o755)


def _make_test(checkout: Path) -> str:
    """The output of a `make test` that must fail in set-up."""
    done = subprocess.run(
        ["make", "test"],
        cwd=checkout,
        env={"PATH": str(checkout.parent / "bin")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_machine_without_python_is_told_what_to_install(checkout: Path) -> None:
    said = _make_test(checkout)
    assert "Python 3.11 or newer is needed and was not found (there is no python3" in said
    assert "apt-get install python3 python3-venv" in said


def test_a_python_that_is_too_old_is_named_with_its_version(checkout: Path) -> None:
    _add_python(checkout, "python3", "3.9", 3)
    assert "Python 3.11 or newer is needed and was not found (python3 is 3.9" in _make_test(checkout)


def test_a_python_without_venv_is_told_which_package_holds_it(checkout: Path) -> None:
    _add_python(checkout, "python3", "3.11", 4)
    said = _make_test(checkout)
    assert "Python 3.11 is here, but without its venv module" in said
    assert "apt-get install python3.11-venv" in said


def test_a_newer_python_beside_an_old_python3_is_found(checkout: Path) -> None:
    _add_python(checkout, "python3", "3.9", 3)
    _add_python(checkout, "python3.12", "3.12", 4)
    assert "Python 3.12 is here" in _make_test(checkout)
