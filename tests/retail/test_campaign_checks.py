"""The campaign's comparison: where one thing is wrong, it says so, and where nothing is, it says nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from examples.retail.campaign.evidence import Evidence, Turn
from examples.retail.campaign.player import Outcome
from examples.retail.campaign.report import Run, report_on
from tests.retail.campaign_evidence import KEY, READ, REFERENCE, THREAD, agreeing, entry, event, receipt, turn

RUN = Run(seed=7, seconds=2.0, kills={"turn-runner": 2, "outbox-relay": 1}, struck={"dropReply": 3})


def differences(evidence: Evidence) -> str:
    return "\n".join(report_on(evidence, RUN).differences)


def test_where_everything_agrees_nothing_is_said_and_the_last_line_counts() -> None:
    report = report_on(agreeing(), RUN)
    assert report.agrees, report.differences
    assert json.loads(report.lines()[-1]) == {
        "conversations": 1,
        "turns": 4,
        "continuations": 1,
        "effects": 1,
        "refusals": 1,
        "said_again": 0,
        "kills": 3,
        "killed": {"turn-runner": 2, "outbox-relay": 1},
        "faults": {"dropReply": 3},
        "uncertain": 1,
        "settled_by_resolver": 1,
        "settled_by_late_answer": 0,
        "open_items": 0,
        "events": 4,
        "differences": 0,
        "seconds": 2.0,
        "turns_per_second": 2.0,
        "seed": 7,
    }


def _with_outcome(index: int, outcome: Outcome | None) -> Callable[[Evidence], Evidence]:
    def spoil(evidence: Evidence) -> Evidence:
        outcomes = evidence.played[0].outcomes
        if outcome is None:
            del outcomes[index]
        else:
            outcomes[index] = outcome
        return evidence

    return spoil


def _with_turns(*turns: Turn) -> Callable[[Evidence], Evidence]:
    events = [one for turn in turns for one in turn.events]
    return lambda evidence: replace(evidence, turns={THREAD: turns}, published={THREAD: events})


def _with_published(*sequences: int) -> Callable[[Evidence], Evidence]:
    return lambda evidence: replace(evidence, published={THREAD: [event(one) for one in sequences]})


TWICE = (turn("a", 1), turn("a", 2), turn("b", 3), turn("c", 4))

SPOILED: dict[str, tuple[Callable[[Evidence], Evidence], str]] = {
    "an effect twice under one key": (lambda e: replace(e, ledger=[entry(), entry(2)]), f"{KEY} was applied 2 times"),
    "an effect twice under another key": (lambda e: replace(e, ledger=[entry(), entry(2, key="k")]), "the ledger has"),
    "a lost effect": (lambda e: replace(e, ledger=[]), "is completed and not in the ledger"),
    "an effect of nobody": (lambda e: replace(e, ledger=[entry(), entry(2, world="w")]), "'w', which nobody played"),
    "an effect without receipt": (lambda e: replace(e, receipts=e.receipts[1:]), "has no receipt"),
    "an effect of another number": (
        lambda e: replace(e, ledger=[entry(9)]),
        f"says {REFERENCE}, the ledger SHOP-000009",
    ),
    "an effect that we say failed": (
        lambda e: replace(e, receipts=[receipt("failed")]),
        f"{REFERENCE} is in the ledger",
    ),
    "an uncertain receipt that nobody sees": (lambda e: replace(e, receipts=[receipt("uncertain")]), "no operator"),
    "a contradiction": (lambda e: replace(e, receipts=[receipt(contradicted=True)]), "is contradicted"),
    "another record": (lambda e: replace(e, changes={THREAD: {"users": {}}}), "/users: not expected"),
    "a missing world": (lambda e: replace(e, changes={THREAD: {"orders": {}}}), "the shop's records"),
    "a refusal too many": (_with_outcome(2, Outcome((READ["name"],), ("x",))), "refused with ('x',)"),
    "a refusal too few": (_with_outcome(1, Outcome(("cancel_pending_order",), ())), "not refused"),
    "another capability": (_with_outcome(2, Outcome(("get_user_details",), ())), "ran instead"),
    "nothing done": (_with_outcome(2, Outcome((), ())), "nothing ran instead"),
    "an operation that was not reached": (_with_outcome(2, None), "not played to its end"),
    "a lost turn": (_with_turns(turn("a", 1), turn("b", 2)), "lost: ['c']"),
    "a turn twice": (_with_turns(*TWICE), "are committed, sent were"),
    "turns in another order": (_with_turns(turn("b", 1), turn("a", 2), turn("c", 3)), "are committed, sent were"),
    "a turn of nobody": (_with_turns(*agreeing().turns[THREAD], turn("d", 5)), "are committed, sent were"),
    "a revision left out": (_with_turns(turn("a", 1), turn("b", 3), turn("c", 4)), "the revisions [1, 3, 4]"),
    "a failed turn": (_with_turns(turn("a", 1), turn("b", 2), turn("c", 3, "failed")), "c is failed"),
    "a turn that was given up": (lambda e: replace(e, given_up=["a: held_too_long"]), "given up: a: held_too_long"),
    "an event that is not on the topic": (_with_published(1, 2, 3), "4 events are committed, the topic tells 3"),
    "events in another order": (_with_published(1, 3, 2, 4), "or others"),
    "a gap": (lambda e: replace(e, unread=["event 3 came after 1"]), "event 3 came after 1"),
    "a turn that is not told": (
        _with_turns(Turn("a", 1, "completed", (event(1, "turn.started"),)), turn("b", 2), turn("c", 3)),
        "a has 0 turn.completed events",
    ),
    "work that is left": (lambda e: replace(e, left=["2 outbox rows (x)"]), "left: 2 outbox rows (x)"),
}


@pytest.mark.parametrize(("spoil", "told"), SPOILED.values(), ids=SPOILED)
def test_one_thing_that_is_wrong_is_told(spoil: Callable[[Evidence], Evidence], told: str) -> None:
    assert told in differences(spoil(agreeing()))


def test_what_an_operator_is_told_of_is_counted_and_is_no_difference_of_the_receipts() -> None:
    evidence = replace(agreeing(), ledger=[], receipts=[receipt("uncertain", listed=True)])
    report = report_on(evidence, RUN)
    assert report.counts["open_items"] == 1
    assert not any("receipt" in line for line in report.differences)


def test_a_process_that_ended_by_itself_is_a_difference() -> None:
    report = report_on(agreeing(), replace(RUN, complaints=("turn-runner-1 ended",)))
    assert report.differences == ("turn-runner-1 ended",)


def test_many_differences_are_cut_and_counted() -> None:
    report = report_on(replace(agreeing(), left=[f"work {number}" for number in range(50)]), RUN)
    assert report.counts["differences"] == 50
    assert "… and 30 more" in "\n".join(report.lines())
    assert len(report.lines()) == 23
