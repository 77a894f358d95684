"""What the static tests know about the checkout: its files, its distributions and how to run a tool in it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sys.executable).parent
DISTRIBUTIONS = (".", "shared", "services/turn-runner", "services/outbox-relay", "services/receipt-reconciler")

# A checkout need not have git at hand, so what it ignores is named here again; hidden folders are caches, but for .ci.
_GENERATED = {"__pycache__", "dist"}


def pyproject(distribution: str) -> dict[str, Any]:
    """The parsed pyproject.toml of one of DISTRIBUTIONS."""
    return tomllib.loads((ROOT / distribution / "pyproject.toml").read_text(encoding="utf-8"))


def project_files() -> Iterator[Path]:
    """Every file that belongs to the project, generated ones left out."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if _belongs(name)]
        yield from (Path(folder, name) for name in names if name not in {".git", "uv.lock"})


def _belongs(folder: str) -> bool:
    return folder == ".ci" or not (folder.startswith(".") or folder in _GENERATED or folder.endswith(".egg-info"))


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a tool to its end; its whole output is the failure."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)
    words = " ".join(map(str, command))
    assert done.returncode == 0, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
