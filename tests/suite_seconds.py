"""A pytest plugin: the suites run in a fixed order, quick ones first, and each prints its seconds at the end.

A suite is a folder of `tests/`. Its seconds are the sum over its tests, set-up and clean-up included; with two workers
the run itself takes about half of their total. Loaded with `-p tests.suite_seconds`.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

# A broken layer or a wrong value says more than the crash it causes later.
_FIRST = ("static", "unit", "contract")

_seconds: dict[str, float] = defaultdict(float)
_tests: dict[str, set[str]] = defaultdict(set)


def _suite(nodeid: str) -> str:
    folders = nodeid.split("::", 1)[0].split("/")[:-1]
    return folders[1] if len(folders) > 1 else "tests"


def _rank(item: pytest.Item) -> tuple[int, str]:
    suite = _suite(item.nodeid)
    return (_FIRST.index(suite) if suite in _FIRST else len(_FIRST), suite)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the suites; inside a suite the order stays."""
    items.sort(key=_rank)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count a phase of a test to its suite."""
    suite = _suite(report.nodeid)
    _seconds[suite] += report.duration
    _tests[suite].add(report.nodeid)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a line a suite."""
    if not _seconds:
        return
    terminalreporter.section("seconds per suite")
    for suite, seconds in _seconds.items():
        terminalreporter.write_line(f"{suite:<12}{seconds:>8.1f} s{len(_tests[suite]):>6} tests")
    terminalreporter.write_line(f"{'all':<12}{sum(_seconds.values()):>8.1f} s{sum(map(len, _tests.values())):>6} tests")
