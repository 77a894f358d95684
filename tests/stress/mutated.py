"""A pytest plugin that switches one rule off: `INTENTION_MUTATION=name python -m pytest -p tests.stress.mutated …`.

Files stay as they are: Python modules are loaded with the replaced text, also by the processes that a test starts; SQL
functions are replaced in each database that a test gets.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.machinery
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import asyncpg
import pytest
from intention_kernel.servers.addresses import Servers

from tests.stress.mutation import Edit, Mutation
from tests.stress.mutation_table import MUTATIONS
from tests.stress.mutations_of_campaigns import CAMPAIGNS

ROOT = Path(__file__).parents[2]


def mutated_text(edits: Sequence[Edit], path: str) -> str:
    """The file with every edit of it. Raises where a text is not there exactly once."""
    text = (ROOT / path).read_text("utf-8")
    for edit in edits:
        if edit.path == path:
            count = text.count(edit.old)
            if count != 1:
                raise LookupError(f"{path}: {count} times {edit.old!r}")
            text = text.replace(edit.old, edit.new)
    return text


def paths(mutation: Mutation, suffix: str) -> list[str]:
    """The files of that kind which it changes."""
    return list(dict.fromkeys(edit.path for edit in mutation.edits if edit.path.endswith(suffix)))


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from other text, and neither reads nor leaves compiled code."""

    def __init__(self, fullname: str, path: str, text: str) -> None:
        super().__init__(fullname, path)
        self._text = text

    def get_data(self, path: str) -> bytes:
        return self._text.encode()

    def path_stats(self, path: str) -> Any:
        raise OSError("not a file")


class _Finder(MetaPathFinder):
    def __init__(self, mutation: Mutation) -> None:
        self._texts = {_module(path): (path, mutated_text(mutation.edits, path)) for path in paths(mutation, ".py")}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._texts:
            return None
        file, text = self._texts[fullname]
        return importlib.util.spec_from_loader(fullname, _Loader(fullname, str(ROOT / file), text))


def _module(path: str) -> str:
    return path.split("/src/", 1)[1].removesuffix(".py").replace("/", ".")


def _install_for_processes(mutation: Mutation) -> None:
    """Whatever this process starts finds copies of the changed packages before the packages themselves."""
    changed = paths(mutation, ".py")
    if not changed:
        return
    folder = Path(tempfile.mkdtemp(prefix="intention-mutation-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for path in changed:
        sources, module = path.split("/src/", 1)
        package = module.split("/", 1)[0]
        if not (folder / package).exists():
            shutil.copytree(ROOT / sources / "src" / package, folder / package)
        (folder / module).write_text(mutated_text(mutation.edits, path), "utf-8")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


def _install(mutation: Mutation) -> None:
    for name in [_module(path) for path in paths(mutation, ".py")]:
        assert name not in sys.modules, f"{name} is imported already"
    sys.meta_path.insert(0, _Finder(mutation))
    _install_for_processes(mutation)
    functions = [
        mutated_text(mutation.edits, path)
        .replace("create function", "create or replace function")
        .replace("create trigger", "create or replace trigger")
        for path in paths(mutation, ".sql")
    ]
    # Only now: these import modules of ours, which may be changed ones; and as conftest.py would have them imported.
    pytest.register_assert_rewrite("intention_kernel.testing")
    test_servers: Any = importlib.import_module("tests.support.servers")
    scratch: Any = importlib.import_module("intention_kernel.testing.scratch")
    create_database, migrate = test_servers.create_database, scratch.migrate

    async def install(url: str) -> None:
        connection = await asyncpg.connect(url)
        try:
            for function in functions:
                await connection.execute(function)
        finally:
            await connection.close()

    async def create_mutated(servers: Servers, name: str, *, template: str = "template0") -> str:
        url: str = await create_database(servers, name, template=template)
        await install(url)
        return url

    async def migrate_mutated(url: str, *, partitions: int) -> None:
        await migrate(url, partitions=partitions)
        await install(url)

    if functions:
        test_servers.create_database = create_mutated
        scratch.migrate = migrate_mutated


if os.environ.get("INTENTION_MUTATION"):
    known = {mutation.name: mutation for mutation in (*MUTATIONS, *CAMPAIGNS)}
    _install(known[os.environ["INTENTION_MUTATION"]])
