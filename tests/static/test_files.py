"""No file of the project knows one machine or one package server."""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

from tests.static.project import ROOT, project_files

# Written so that this file does not match itself.
_MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|tmp|home)/(?=\w)")
_PACKAGE_SERVER = re.compile(
    r"pypi[.]org|pythonhosted[.]org|repo1?[.]maven|maven[.]org|npmjs[.]org|crates[.]io|proxy[.]golang|deb[.]debian"
)
# Paths inside an image are the same on every machine.
_SPEAKS_OF_IMAGES = {
    ROOT / "shared/src/intention_kernel/servers/containers.py",
    ROOT / "Dockerfile",
    ROOT / "compose.yaml",
}


def _matches(pattern: re.Pattern[str], exempt: Set[Path] = frozenset()) -> list[str]:
    found: list[str] = []
    for path in project_files():
        if path in exempt:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match.group()}" for match in pattern.finditer(text)]
    return found


def test_no_file_names_a_path_of_one_machine() -> None:
    assert not _matches(_MACHINE_PATH, exempt=_SPEAKS_OF_IMAGES)


def test_no_file_names_a_package_server() -> None:
    assert not _matches(_PACKAGE_SERVER)
