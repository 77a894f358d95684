"""The pins: every package that can be installed has a version and hashes, and nothing says where it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.static.project import DISTRIBUTIONS, ROOT, pyproject

PIN_FILES = ("constraints.txt", "constraints-uv.txt")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def _entries(name: str) -> Iterator[str]:
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    yield from (line.strip() for line in text.splitlines() if line.strip())


def _pinned() -> dict[str, str]:
    pins = [Requirement(entry.split(" --hash=", 1)[0]) for entry in _entries("constraints.txt")]
    return {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in pins}


def _required(distribution: str) -> Iterator[Requirement]:
    document = pyproject(distribution)
    project = document["project"]
    groups = [*project.get("optional-dependencies", {}).values(), *document.get("dependency-groups", {}).values()]
    for texts in [project["dependencies"], *groups]:
        yield from map(Requirement, texts)


@pytest.mark.parametrize("name", PIN_FILES)
def test_every_pin_is_exact_and_has_hashes(name: str) -> None:
    entries = list(_entries(name))
    assert entries
    for entry in entries:
        pin, *hashes = entry.split(" --hash=")
        assert [specifier.operator for specifier in Requirement(pin.strip()).specifier] == ["=="], entry
        assert hashes, f"{pin} has no hash"
        assert len(_HASH.findall(entry)) == len(hashes), f"{pin} has a malformed hash"


@pytest.mark.parametrize("name", PIN_FILES)
def test_pins_name_no_address(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    found = re.findall(
        r"^.*(?:https?:|--index-url|--extra-index-url|--find-links|--trusted-host| @ ).*$", text, re.MULTILINE
    )
    assert not found


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_every_dependency_is_pinned_to_a_version_that_it_allows(distribution: str) -> None:
    pinned = _pinned()
    ours = {pyproject(each)["project"]["name"] for each in DISTRIBUTIONS}
    for requirement in _required(distribution):
        if requirement.name in ours:
            continue
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement} is not in constraints.txt; run `make constraints`"
        assert requirement.specifier.contains(version), f"{requirement} does not allow the pinned {version}"
