"""Lint, formatting, types and layers: the tools themselves judge."""

from __future__ import annotations

import sys

import pytest

from tests.static.project import SCRIPTS, run


def test_the_linter_finds_nothing() -> None:
    run(sys.executable, "-m", "ruff", "check", ".")


def test_the_code_is_formatted() -> None:
    run(sys.executable, "-m", "ruff", "format", "--check", ".")


@pytest.mark.timeout(400)  # without a cache the third-party packages are read, too
def test_the_types_hold() -> None:
    run(sys.executable, "-m", "mypy", "--strict")


def test_dependencies_point_one_way() -> None:
    run(SCRIPTS / "lint-imports")
