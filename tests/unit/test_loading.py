"""INTENTION_APPLICATION: what it finds, and what it says when it does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from intention_kernel.application.loading import load_application, open_ports
from intention_kernel.errors import ConfigurationError

SOURCE = """
from contextlib import asynccontextmanager
from intention_kernel.agent import Agent, TurnResult
from intention_kernel.application import Application

left = []

async def program(context):
    return TurnResult(response=None)

@asynccontextmanager
async def port():
    yield "opened"
    left.append("port")

application = Application(agents=[Agent("shop", program)], ports={"one": port})
something = 7
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "corner_shop.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.delitem(sys.modules, "corner_shop", raising=False)
    return "corner_shop"


def test_an_application_in_the_working_directory_is_found(shop: str) -> None:
    assert load_application(f"{shop}:application").agent("shop") is not None


async def test_ports_are_opened_once_and_left(shop: str) -> None:
    application = load_application(f"{shop}:application")
    async with open_ports(application) as ports:
        assert dict(ports) == {"one": "opened"}
    assert sys.modules[shop].left == ["port"]


async def test_a_port_that_is_not_there_is_told_with_those_that_are(shop: str) -> None:
    async with open_ports(load_application(f"{shop}:application")) as ports:
        assert ports.get("two") is None
        with pytest.raises(
            ConfigurationError, match=r"no port is named 'two'; there are 'one': see ports= of the Application"
        ):
            ports["two"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("corner_shop", "not module:attribute"),
        (":application", "not module:attribute"),
        ("..shop:application", "not module:attribute"),
        ("no_such_shop:application", "no module named 'no_such_shop'"),
        ("corner_shop:nothing", r"no such attribute; did you mean corner_shop:application\?"),
        ("corner_shop:something", r"no Application, but of type int; did you mean corner_shop:application\?"),
        ("json:loads", r"of type function; that module has no Application: write application = Application"),
    ],
)
def test_what_is_no_application_is_refused_with_what_to_do(shop: str, name: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        load_application(name)


def test_a_missing_module_is_told_apart_from_a_missing_dependency_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`corner` is no parent of `corner_mart`, whatever its first letters."""
    (tmp_path / "corner_mart.py").write_text("import corner\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    with pytest.raises(ConfigurationError, match=r"'corner' \(a dependency\?\)"):
        load_application("corner_mart:application")
    with pytest.raises(ConfigurationError, match=r"'corner_store' \(is it in this folder"):
        load_application("corner_store.agents:application")
