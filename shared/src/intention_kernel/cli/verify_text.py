"""What `intention verify` says: its progress on stderr, its report on stdout."""

from __future__ import annotations

from typing import Literal

import click

from intention_kernel.cli.output import pretty, visible
from intention_kernel.cli.tables import print_list
from intention_kernel.contracts.json_codec import dumps
from intention_kernel.verification.checks import Check, Outcome
from intention_kernel.verification.report import Report, row_document

_COLUMNS = {"": "guarantee", "guarantee": "title", "status": "status", "seconds": "seconds", "evidence": "evidence"}
_EVERY = 25


class Teller:
    """Progress for people: what begins, every failure and warning, and how far it is."""

    def __init__(self) -> None:
        self._total = 0
        self._done = 0

    def plan(self, place: str, total: int) -> None:
        """Where, and how much."""
        self._total = total
        _say(f"{total} checks in {place}")

    def begins(self, check: Check) -> None:
        """Only of checks that take a while."""
        _say(f"{self._place()} {check.name} …")

    def ends(self, outcome: Outcome) -> None:
        """Crashes one by one, contract tests now and then."""
        self._done += 1
        slow = outcome.check.part == "crash"
        if slow or outcome.status != "pass" or self._done % _EVERY == 0:
            bad = "" if outcome.status == "pass" else f": {outcome.evidence}"
            _say(f"{self._place()} {outcome.check.name} {outcome.status}, {outcome.seconds:.1f} s{bad}")

    def says(self, text: str) -> None:
        """On a line of its own."""
        _say(text)

    def _place(self) -> str:
        return f"[{self._done}/{self._total}]"


def print_report(report: Report, output: Literal["table", "json", "jsonl"]) -> None:
    """On stdout; the last line says the verdict."""
    rows = [row_document(row) for row in report.rows]
    match output:
        case "table":
            shown = [row | {"seconds": f"{row['seconds']:.1f}"} for row in rows]
            print_list(shown, "table", columns=_COLUMNS, id_member="guarantee")
            click.echo(report.summary())
        case "json":
            click.echo(pretty(report.document()))
            _say(report.summary())
        case "jsonl":
            for row in rows:
                click.echo(dumps(row))
            document = report.document()
            click.echo(dumps({name: document[name] for name in ("verdict", "seconds", "run", "place", "left")}))
            _say(report.summary())


def _say(text: str) -> None:
    click.echo(visible(text), err=True)
