"""The mutation table cannot rot: every text that it replaces is there, and every test that it names exists."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.stress.mutated import ROOT, mutated_text
from tests.stress.mutation import Mutation
from tests.stress.mutation_table import MUTATIONS
from tests.stress.mutations_of_campaigns import CAMPAIGNS

ALL = (*MUTATIONS, *CAMPAIGNS)


@pytest.mark.parametrize("mutation", ALL, ids=[mutation.name for mutation in ALL])
def test_a_mutation_applies_to_the_text_as_it_is(mutation: Mutation) -> None:
    for path in {edit.path for edit in mutation.edits}:
        text = mutated_text(mutation.edits, path)
        assert text != (ROOT / path).read_text("utf-8")
        if path.endswith(".py"):
            ast.parse(text)


def test_every_test_of_the_table_exists() -> None:
    tests = sorted({test for mutation in MUTATIONS for test in mutation.tests})
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_the_table_in_the_documents_is_this_one() -> None:
    document = (ROOT / "docs" / "mutations.md").read_text("utf-8")
    rows = [f"| {mutation.rule} | {mutation.without} |" for mutation in MUTATIONS]
    assert [row for row in rows if row not in document] == []
