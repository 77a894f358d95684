"""R22 as a table: may "not applied" be concluded?"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.ports.receipt_ledger import AttemptFacts
from intention_kernel.reconciliation.admissible import Admitted, Look, NotAdmitted, Terms, not_applied

T0 = datetime(2030, 1, 1, tzinfo=UTC)
DEADLINE = 30.0
"""Seconds after T0, when the attempt was prepared."""


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


FACTS = AttemptFacts(
    first_prepared_at=T0,
    prepared_at=T0,
    call_deadline=at(DEADLINE),
    returned_at=None,
    instance="runner-1",
    died_at=None,
    deduplicates=False,
    key_window_seconds=None,
    retry_unfinished=False,
)
RETURNED = replace(FACTS, returned_at=at(10))
CERTIFIED = replace(FACTS, deduplicates=True, key_window_seconds=1000.0)
CERTIFIED_RETURNED = replace(CERTIFIED, returned_at=at(10))
QUIET = Terms(call_timeout_seconds=DEADLINE, quiet_period_seconds=60.0)
NO_QUIET = Terms(call_timeout_seconds=DEADLINE)
STOPPED = Look(at(200), by_person=True, workers_stopped_at=at(100))

CASES = {
    "a: inside the provider's window, the attempt is over": (CERTIFIED_RETURNED, NO_QUIET, Look(at(11)), True),
    "a: the same, its process is dead": (replace(CERTIFIED, died_at=at(2)), NO_QUIET, Look(at(3)), True),
    "a: the attempt may still answer, which would contradict it (R25)": (CERTIFIED, NO_QUIET, Look(at(30)), False),
    "a: its time to answer is over": (CERTIFIED, NO_QUIET, Look(at(31)), True),
    "a: at the window's end minus margin and call": (CERTIFIED, NO_QUIET, Look(at(965)), True),
    "a: beyond it": (CERTIFIED, NO_QUIET, Look(at(966)), False),
    "a: a window without a certificate is none": (replace(CERTIFIED, deduplicates=False), NO_QUIET, Look(at(1)), False),
    "b: the lookup closed the key": (FACTS, NO_QUIET, Look(at(1), closed_key=True), True),
    "b: declared, but this look closed nothing": (FACTS, Terms(lookup_closes_key=True), Look(at(999)), False),
    "c: never seen to end": (FACTS, QUIET, Look(at(9999)), False),
    "c: returned and quiet": (RETURNED, QUIET, Look(at(91)), True),
    "c: returned, the quiet period counts from the deadline": (RETURNED, QUIET, Look(at(90)), False),
    "c: returned after its deadline": (replace(FACTS, returned_at=at(50)), QUIET, Look(at(110)), False),
    "c: returned after its deadline and quiet": (replace(FACTS, returned_at=at(50)), QUIET, Look(at(111)), True),
    "c: its process is dead and quiet": (replace(FACTS, died_at=at(100)), QUIET, Look(at(161)), True),
    "c: its process is dead, not quiet": (replace(FACTS, died_at=at(100)), QUIET, Look(at(160)), False),
    "c: no quiet period declared": (RETURNED, NO_QUIET, Look(at(9999)), False),
    "c: a person stands for the undeclared quiet period": (RETURNED, NO_QUIET, Look(at(31), by_person=True), True),
    "c: a person, before the deadline": (RETURNED, NO_QUIET, Look(at(30), by_person=True), False),
    "c: a person cannot shorten a declared one": (RETURNED, QUIET, Look(at(90), by_person=True), False),
    "c: a person, the attempt never seen to end": (FACTS, NO_QUIET, Look(at(9999), by_person=True), False),
    "c: workers stopped, no quiet period": (FACTS, NO_QUIET, STOPPED, True),
    "c: workers stopped, quiet": (FACTS, QUIET, STOPPED, True),
    "c: workers stopped just now, not quiet": (FACTS, QUIET, replace(STOPPED, workers_stopped_at=at(199)), False),
    "c: it returned after all, later than the workers were said to be stopped": (
        replace(FACTS, returned_at=at(150)),
        QUIET,
        STOPPED,
        False,
    ),
    "c: a repeat of the call never ended": (replace(RETURNED, retry_unfinished=True), QUIET, Look(at(9999)), False),
    "c: the same, and the workers are stopped": (replace(RETURNED, retry_unfinished=True), QUIET, STOPPED, True),
}


@pytest.mark.parametrize(("facts", "terms", "look", "admitted"), CASES.values(), ids=CASES)
def test_not_applied_is_admitted_only_if_the_attempt_can_no_longer_take_effect(
    facts: AttemptFacts, terms: Terms, look: Look, admitted: bool
) -> None:
    """R22: one case a line."""
    verdict = not_applied(facts, terms, look, look.started_at)
    assert isinstance(verdict, Admitted) == admitted
    assert verdict.reason


def test_a_verdict_of_the_window_ends_with_the_window() -> None:
    """R22 a: a settlement that is written later than that would be admitted no more."""
    assert not_applied(CERTIFIED_RETURNED, NO_QUIET, Look(at(11)), at(11)) == Admitted(
        "the provider knows our key, so that a repeat is the same effect", at(965)
    )


def test_a_verdict_says_when_a_look_may_succeed() -> None:
    verdict = not_applied(RETURNED, QUIET, Look(at(50)), at(50))
    assert isinstance(verdict, NotAdmitted)
    assert verdict.not_before == at(90)


SECONDS = st.integers(0, 500).map(float)
MAYBE = st.none() | SECONDS.map(at)


@given(
    returned=MAYBE,
    died=MAYBE,
    stopped=MAYBE,
    deadline=SECONDS,
    quiet=st.none() | SECONDS,
    looked=SECONDS,
    by_person=st.booleans(),
    unfinished=st.booleans(),
)
def test_without_certificate_and_closed_key_a_verdict_needs_an_end_a_deadline_and_silence(
    returned: datetime | None,
    died: datetime | None,
    stopped: datetime | None,
    deadline: float,
    quiet: float | None,
    looked: float,
    by_person: bool,
    unfinished: bool,
) -> None:
    """R22 c, as a property: whatever is admitted, nothing can be sent nor be on its way when the look begins."""
    facts = replace(FACTS, returned_at=returned, died_at=died, call_deadline=at(deadline), retry_unfinished=unfinished)
    look = Look(at(looked), by_person=by_person, workers_stopped_at=stopped)
    verdict = not_applied(facts, Terms(30.0, quiet_period_seconds=quiet), look, at(looked))
    proofs = [stopped] if unfinished else [returned] if returned is not None else [stopped, died]
    ends = [end for end in proofs if end is not None]
    silent = bool(ends) and at(looked) > max(min(ends), at(deadline)) + timedelta(seconds=quiet or 0)
    assert isinstance(verdict, Admitted) == (silent and (quiet is not None or by_person))
    later = not_applied(
        facts, Terms(30.0, quiet_period_seconds=quiet), replace(look, started_at=at(looked + 1)), at(looked + 1)
    )
    assert isinstance(later, Admitted) or not isinstance(verdict, Admitted), "time alone takes nothing back"
