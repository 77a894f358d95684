"""The pages for people who write agents: every block of Python runs, and does what the page says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.blocks import blocks_of, run_blocks, save_files

PROVIDERS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "INTENTION_MODEL_BASE_URL", "INTENTION_MODEL")


@pytest.fixture(autouse=True)
def _no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROVIDERS:
        monkeypatch.delenv(name, raising=False)


async def test_every_block_of_the_page_about_agents_does_what_it_says() -> None:
    blocks = blocks_of("docs/agents.md")
    assert len(blocks) >= 6
    await run_blocks(blocks)


async def test_every_block_of_the_page_about_tests_does_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    app = ModuleType("app")
    app.__dict__.update(await run_blocks([block for block in blocks_of("docs/agents.md") if block.file == "app.py"]))
    monkeypatch.setitem(sys.modules, "app", app)
    blocks = [block for block in blocks_of("docs/testing.md") if block.file is None]
    assert len(blocks) >= 3
    await run_blocks(blocks)


def test_the_first_agent_has_two_capabilities_and_is_under_fifty_lines_of_code() -> None:
    first = next(block for block in blocks_of("docs/agents.md") if block.file == "app.py")
    lines = [line for line in first.source.splitlines() if line.strip() and not line.startswith("#")]
    assert first.source.count("= CapabilityDefinition(") == 2
    assert len(lines) < 50


def test_the_worked_example_of_the_page_about_tests_passes_as_its_reader_runs_it(tmp_path: Path) -> None:
    save_files([*blocks_of("docs/agents.md"), *blocks_of("docs/testing.md")], tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shop.py"]
    environment = {name: value for name, value in os.environ.items() if name not in PROVIDERS}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "3 passed" in ran.stdout
