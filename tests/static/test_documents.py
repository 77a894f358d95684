"""What the documents promise: tests that exist, commands that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.static.project import ROOT

_ROW = re.compile(r"^\|\s*(I-\d+)\s*\|([^|]+)\|([^|]*)\|\s*$", re.MULTILINE)


def _invariants() -> list[tuple[str, str, list[str]]]:
    text = (ROOT / "docs/invariants.md").read_text(encoding="utf-8")
    return [
        (number, sentence.strip(), [name.strip(" `") for name in names.split(",") if name.strip()])
        for number, sentence, names in _ROW.findall(text)
    ]


def _defined_tests() -> Iterator[str]:
    for folder in ("tests", "shared/src/intention_kernel/testing"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                    yield node.name


def test_every_row_of_the_invariants_is_read() -> None:
    text = (ROOT / "docs/invariants.md").read_text(encoding="utf-8")
    numbers = [number for number, _, _ in _invariants()]
    assert numbers
    assert len(numbers) == len(re.findall(r"^\|\s*I-\d+", text, re.MULTILINE)), "a row has not three cells"
    assert len(numbers) == len(set(numbers))


def test_every_invariant_names_tests_that_exist() -> None:
    defined = set(_defined_tests())
    wrong = [f"{number}: {name}" for number, _, names in _invariants() for name in names if name not in defined]
    without = [f"{number}: no test" for number, _, names in _invariants() if not names]
    assert not wrong + without


@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_readme_names_the_two_commands(target: str) -> None:
    assert f"make {target}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_make_command_in_the_readme_is_a_target() -> None:
    named = set(re.findall(r"(?:^\s*|`)make ([a-z]+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {"demo", "test"} <= targets
    assert named <= targets


def test_the_licence_is_the_whole_apache_licence() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
