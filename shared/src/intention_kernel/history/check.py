"""All checks of a history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from intention_kernel.history import checks_of_effects, checks_of_requests, checks_of_turns, checks_of_work
from intention_kernel.history.checks_of_events import check_events
from intention_kernel.history.reading import Log
from intention_kernel.history.values import Allowed, Finding, History

_SHOWN = 10


def check_history(history: History, allowed: Allowed | None = None) -> list[Finding]:
    """What is wrong with it; nothing where everything that is promised holds.

    Of each rule the first ten findings are told, and in one more how many others there are. Takes time in proportion to
    the history.
    """
    return _bounded(_findings(history, allowed or Allowed()))


def _findings(history: History, allowed: Allowed) -> Iterator[Finding]:
    log = Log(history)
    yield from checks_of_requests.check_acknowledged(history, log)
    yield from checks_of_requests.check_outcomes(history, log)
    yield from checks_of_requests.check_nothing_is_made_up(history, log)
    yield from checks_of_requests.check_refusals(history, log, allowed)
    yield from checks_of_requests.check_given_up(history, allowed)
    yield from checks_of_requests.check_rejections_are_told(history)
    yield from checks_of_requests.check_offsets(history)
    yield from checks_of_turns.check_commits(history)
    yield from checks_of_turns.check_order(history, log)
    yield from checks_of_turns.check_revisions(history)
    yield from checks_of_effects.check_ledger(history)
    yield from checks_of_effects.check_records(history)
    yield from checks_of_effects.check_settled(history, allowed)
    yield from checks_of_effects.check_moves(history)
    yield from checks_of_work.check_items(history, allowed)
    yield from checks_of_work.check_orphans(history)
    yield from checks_of_work.check_continuations(history)
    yield from checks_of_work.check_nothing_in_flight(history, allowed)
    yield from check_events(history)


def _bounded(findings: Iterable[Finding]) -> list[Finding]:
    rules: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        rules[finding.rule].append(finding)
    shown: list[Finding] = []
    for rule, found in rules.items():
        shown += found[:_SHOWN]
        if len(found) > _SHOWN:
            shown.append(Finding(rule, f"and {len(found) - _SHOWN} more"))
    return shown
