"""The Python blocks of a page, as a reader would use them: files to save, and lines to run one after another."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

from tests.static.project import ROOT

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+\.py)\n")


@dataclass(frozen=True, slots=True)
class Block:
    """`file` is the name in a first-line comment: a file to save. `line` is where the block begins in the page."""

    page: str
    line: int
    source: str

    @property
    def file(self) -> str | None:
        found = _FILE.match(self.source)
        return found[1] if found else None


def blocks_of(page: str) -> list[Block]:
    """In order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [Block(page, text[: m.start()].count("\n") + 2, m[1]) for m in _BLOCK.finditer(text)]


def save_files(blocks: list[Block], folder: Path) -> None:
    """Save what a page says to save."""
    for block in blocks:
        if block.file is not None:
            (folder / block.file).write_text(block.source, encoding="utf-8")


async def run_blocks(blocks: list[Block]) -> dict[str, object]:
    """Run them in one namespace, with await at the top level; errors show the page's own lines."""
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        source = "\n" * (block.line - 1) + block.source
        code = compile(source, str(ROOT / block.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        running = eval(code, namespace)
        if inspect.iscoroutine(running):
            await running
    return namespace
