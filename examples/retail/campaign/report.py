"""What a campaign found: differences in words, and counts as one JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from intention_kernel.testing.fleet import Kind

from examples.retail.campaign.checks_of_effects import check_ledger, check_outcomes, check_receipts, check_records
from examples.retail.campaign.checks_of_turns import check_events, check_nothing_is_left, check_turns
from examples.retail.campaign.evidence import Evidence

_CHECKS = (
    check_outcomes,
    check_records,
    check_ledger,
    check_receipts,
    check_turns,
    check_events,
    check_nothing_is_left,
)
_SHOWN_DIFFERENCES = 20
_LONGEST_LINE = 600


@dataclass(frozen=True, slots=True)
class Run:
    """How it went, beside what it left: `struck` counts the shop's faults, `complaints` what the processes did wrong."""

    seed: int
    seconds: float
    kills: Mapping[Kind, int]
    struck: Mapping[str, int]
    complaints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The result. Everything agrees where `differences` is empty."""

    counts: Mapping[str, object]
    differences: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        return not self.differences

    def lines(self) -> list[str]:
        """The first differences for people, and the counts as the last line."""
        shown = [_cut(line) for line in self.differences[:_SHOWN_DIFFERENCES]]
        if (more := len(self.differences) - len(shown)) > 0:
            shown.append(f"… and {more} more")
        verdict = "differences:" if shown else "Shop, ledger, receipts, turns and topic agree with the published state."
        return [verdict, *(f"  {line}" for line in shown), json.dumps(self.counts)]


def report_on(evidence: Evidence, run: Run) -> Report:
    """Compare everything with everything."""
    found = tuple(wrong for check in _CHECKS for wrong in check(evidence)) + run.complaints
    return Report(_counts(evidence, run, len(found)), found)


def _counts(evidence: Evidence, run: Run, differences: int) -> dict[str, object]:
    turns = sum(map(len, evidence.turns.values()))
    sent = sum(len(played.requests) for played in evidence.played)
    return {
        "conversations": len(evidence.played),
        "turns": turns,
        "continuations": turns - sent,
        "effects": len(evidence.ledger),
        "refusals": sum(bool(one.issues) for played in evidence.played for one in played.outcomes.values()),
        "said_again": sum(played.repeats for played in evidence.played),
        "kills": sum(run.kills.values()),
        "killed": dict(run.kills),
        "faults": dict(run.struck),
        "uncertain": evidence.moves.uncertain,
        "settled_by_resolver": evidence.moves.settled_by_resolver,
        "settled_by_late_answer": evidence.moves.settled_by_late_answer,
        "open_items": sum(receipt.listed for receipt in evidence.receipts),
        "events": sum(map(len, evidence.published.values())),
        "differences": differences,
        "seconds": round(run.seconds, 1),
        "turns_per_second": round(turns / run.seconds, 1),
        "seed": run.seed,
    }


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} …"
