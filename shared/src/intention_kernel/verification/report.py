"""What a run found, by guarantee."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.verification.checks import Outcome, Part, Status
from intention_kernel.verification.guarantees import GUARANTEES, Guarantee

_SHOWN_FAILURES = 3
_WORST: tuple[Status, ...] = ("fail", "warn", "pass")

Verdict = Literal["pass", "fail"]


@dataclass(frozen=True, slots=True)
class Row:
    """One guarantee: `status` is the worst of its checks, "not run" where no test of it ran."""

    guarantee: Guarantee
    status: Literal["pass", "warn", "fail", "not run"]
    seconds: float
    evidence: str
    checks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run. `place` says where it was; `left` is what could not be removed again, and is empty as a rule."""

    run: str
    place: str
    outcomes: tuple[Outcome, ...]
    seconds: float
    left: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """fail where any check failed or anything was left behind; a warning fails nothing."""
        return "fail" if self.left or any(one.status == "fail" for one in self.outcomes) else "pass"

    @property
    def rows(self) -> tuple[Row, ...]:
        """Every guarantee, in the order of the promises."""
        return tuple(_row(guarantee, self.outcomes) for guarantee in GUARANTEES)

    def document(self) -> dict[str, JsonValue]:
        """The report as JSON."""
        return {
            "verdict": self.verdict,
            "seconds": round(self.seconds, 1),
            "run": self.run,
            "place": self.place,
            "left": list(self.left),
            "guarantees": [row_document(row) for row in self.rows],
            "checks": [outcome_document(outcome) for outcome in self.outcomes],
        }

    def summary(self) -> str:
        """The last line for people."""
        counted = Counter(outcome.status for outcome in self.outcomes)
        said = f"{len(self.outcomes)} checks in {self.seconds:.0f} s: {counted['pass']} passed"
        said += "".join(f", {counted[status]} {word}" for status, word in _COUNTED if counted[status])
        return f"verdict: {self.verdict}; {said}; " + (
            f"LEFT BEHIND: {', '.join(self.left)}" if self.left else "nothing is left behind"
        )


_COUNTED: tuple[tuple[Status, str], ...] = (("warn", "with a warning"), ("fail", "failed"))


def row_document(row: Row) -> dict[str, JsonValue]:
    """A guarantee as JSON."""
    return {
        "guarantee": row.guarantee.number,
        "promise": row.guarantee.promise,
        "title": row.guarantee.title,
        "status": row.status,
        "seconds": round(row.seconds, 2),
        "evidence": row.evidence,
        "invariants": list(row.guarantee.invariants),
        "checks": list(row.checks),
    }


def outcome_document(outcome: Outcome) -> dict[str, JsonValue]:
    """A check as JSON."""
    return {
        "check": outcome.check.name,
        "part": outcome.check.part,
        "title": outcome.check.title,
        "rules": [f"R{number}" for number in sorted(int(rule[1:]) for rule in outcome.check.rules)],
        "status": outcome.status,
        "seconds": round(outcome.seconds, 3),
        "evidence": outcome.evidence,
    }


def _row(guarantee: Guarantee, outcomes: Sequence[Outcome]) -> Row:
    found = [outcome for outcome in outcomes if guarantee.rests_on(outcome.check)]
    names = tuple(outcome.check.name for outcome in found)
    worst: Status = min((outcome.status for outcome in found), key=_WORST.index, default="pass")
    if worst == "pass" and all(outcome.check.part == "servers" for outcome in found):
        settings = f", {_counts(found)} looked at" if found else ""
        return Row(guarantee, "not run", 0.0, f"no test of it was asked for{settings}", names)
    return Row(guarantee, worst, sum(outcome.seconds for outcome in found), _evidence(found, worst), names)


def _evidence(found: Sequence[Outcome], worst: Status) -> str:
    if worst == "pass":
        return _counts(found)
    bad = [f"{one.check.name}: {one.evidence}" for one in found if one.status == worst]
    more = f"; and {len(bad) - _SHOWN_FAILURES} more" if len(bad) > _SHOWN_FAILURES else ""
    return "; ".join(bad[:_SHOWN_FAILURES]) + more


def _counts(found: Sequence[Outcome]) -> str:
    parts = Counter(outcome.check.part for outcome in found)
    words: tuple[tuple[Part, str, str], ...] = (
        ("contract", "contract test", "contract tests"),
        ("crash", "crash survived", "crashes survived"),
        ("servers", "setting", "settings"),
    )
    counted = ((parts[part], one, many) for part, one, many in words)
    return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in counted if count)
