"""The distributions: one version, commands that start, wheels that hold every file of their package."""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.static.project import DISTRIBUTIONS, ROOT, SCRIPTS, pyproject, run

COMMANDS = [command for each in DISTRIBUTIONS for command in pyproject(each)["project"].get("scripts", {})]


def _package_files(distribution: str) -> set[str]:
    """The files that the wheel must hold, named as inside the wheel."""
    packages = pyproject(distribution)["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    found: set[str] = set()
    for package in packages:
        folder = ROOT / distribution / package
        files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        found |= {path.relative_to(folder.parent).as_posix() for path in files}
    return found


def test_all_distributions_have_the_same_version_and_the_changelog_knows_it() -> None:
    versions = {pyproject(each)["project"]["version"] for each in DISTRIBUTIONS}
    assert len(versions) == 1
    assert f"\n## {versions.pop()} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_all_distributions_support_the_same_pythons_under_the_same_licence() -> None:
    projects = [pyproject(each)["project"] for each in DISTRIBUTIONS]
    assert {(each["requires-python"], each["license"]) for each in projects} == {(">=3.11", "Apache-2.0")}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_console_script_starts(command: str) -> None:
    run(SCRIPTS / command, "--help")


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_wheels_build_and_hold_every_file_of_their_package(distribution: str, tmp_path: Path) -> None:
    expected = _package_files(distribution)
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=ROOT / distribution)
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        missing = expected - set(archive.namelist())
    assert expected
    assert not missing


def test_the_kernel_ships_its_types_its_sql_and_the_sums_of_the_kafka_jars() -> None:
    files = _package_files("shared")
    assert "intention_kernel/py.typed" in files
    assert any(name.startswith("intention_kernel/postgres/") and name.endswith(".sql") for name in files)
    assert any(name.startswith("intention_kernel/servers/") and "jars" in Path(name).name for name in files)
