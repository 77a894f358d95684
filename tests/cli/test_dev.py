"""`intention dev`: everything up from one command, and nothing left of it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from intention_kernel.servers.state import read_variables

from tests.cli.invoking import script_environment
from tests.servers.foreground import is_running, wait_until

COMMAND = [sys.executable, "-c", "from intention_kernel.cli.main import main; main()"]


@contextmanager
def _dev(directory: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], list[psutil.Process]]]:
    with (directory / "out").open("wb") as out, (directory / "err").open("wb") as err:
        process = subprocess.Popen(
            [*COMMAND, "dev", *arguments], cwd=directory, env=script_environment(), stdout=out, stderr=err
        )
    try:
        wait_until(
            lambda: process.poll() is not None or _is_ready(directory),
            seconds=100,
            what="a line that starts with ready",
        )
        assert process.poll() is None, (directory / "err").read_text()
        yield process, psutil.Process(process.pid).children(recursive=True)
    finally:
        process.kill()
        process.wait()


def _is_ready(directory: Path) -> bool:
    lines = (directory / "out").read_text().splitlines()
    return bool(lines) and lines[-1].startswith("ready")


def _intention(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = script_environment()
    return subprocess.run(
        [*COMMAND, *arguments], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def _console(directory: Path) -> tuple[str, str]:
    """Its address, and the password of `dev`, as they were printed."""
    told = re.search(r"console: (http://127\.0\.0\.1:\d+): sign in as dev with the password (\S+) ", _out(directory))
    assert told is not None, _out(directory)
    return told[1], told[2]


def _sign_in(url: str, password: str) -> None:
    """It answers, and the password opens it."""
    form = {"name": "dev", "password": password, "next": "/users"}
    with httpx.Client(base_url=url, follow_redirects=True, trust_env=False) as browser:
        page = browser.post("/login", data=form, headers={"Sec-Fetch-Site": "same-origin"})
    assert (page.status_code, page.url.path) == (200, "/users"), page.text


def _out(directory: Path) -> str:
    return (directory / "out").read_text()


def _until_nothing_is_left(children: list[psutil.Process]) -> None:
    wait_until(lambda: not any(map(is_running, children)), seconds=30, what=f"the end of {children}")


@pytest.mark.timeout(240)
def test_servers_only_migrates_says_ready_last_and_leaves_nothing_after_sigint(tmp_path: Path) -> None:
    with _dev(tmp_path, "--servers-only") as (process, children):
        assert set(read_variables(tmp_path / ".intention")) >= {
            "INTENTION_DATABASE_URL",
            "INTENTION_KAFKA_BOOTSTRAP_SERVERS",
        }
        listed = _intention(tmp_path, "receipts", "ls", "-o", "json")
        assert (listed.returncode, listed.stdout.strip()) == (0, "[]"), listed.stderr
        assert ".intention/env" in listed.stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert "stopping" in (tmp_path / "err").read_text()
        _until_nothing_is_left(children)
    assert read_variables(tmp_path / ".intention") == {}


@pytest.mark.timeout(300)
def test_the_three_services_answer_a_message_and_one_that_ends_ends_all(tmp_path: Path) -> None:
    with _dev(tmp_path, "--application", "tests.cli.sample:application", "--data", str(tmp_path / "data")) as (
        process,
        children,
    ):
        sent = _intention(tmp_path, "send", "t", "hello", "--wait", "60")
        assert sent.returncode == 0, sent.stderr
        assert '"message":"hello"' in sent.stdout.splitlines()[1]
        _sign_in(*_console(tmp_path))
        relay = next(
            child
            for child in children
            if "outbox-relay" in " ".join(child.cmdline()) and "guardian" not in " ".join(child.cmdline())
        )
        relay.kill()
        assert process.wait(90) == 1
        assert "outbox-relay ended by itself" in (tmp_path / "err").read_text()
        _until_nothing_is_left(children)


def test_an_application_that_cannot_be_loaded_is_said_before_anything_starts(tmp_path: Path) -> None:
    said = _intention(tmp_path, "dev", "--application", "nowhere:application")
    assert said.returncode == 2
    assert "nowhere" in said.stderr
    assert not (tmp_path / ".intention").exists()
