"""Pure: may "not applied" be concluded? Only if the attempt can no longer take effect (protocol R22)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from intention_kernel.agent.effect import Effect
from intention_kernel.ports.receipt_ledger import AttemptFacts

WINDOW_MARGIN_SECONDS = 5.0
"""How long before the provider's window ends we stop relying on it: clocks differ, and a call takes a while to arrive."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the effect declares about its provider. Nothing is assumed of an effect that is not known."""

    call_timeout_seconds: float | None = None
    lookup_closes_key: bool = False
    quiet_period_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """Somebody looked and did not find the effect.

    `started_at` is when the look began, on the store's clock. `closed_key` says that the look itself made the provider
    refuse the key for ever. `by_person`: a person's recorded statement stands for a quiet period that is not declared.
    `workers_stopped_at` is when a person said that every process that may call the provider is stopped.
    """

    started_at: datetime
    closed_key: bool = False
    by_person: bool = False
    workers_stopped_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """It may be concluded, for this reason; `not_after` None: at any time."""

    reason: str
    not_after: datetime | None = None


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """It may not, for this reason; a look that begins after `not_before` may change that, None: time alone does not."""

    reason: str
    not_before: datetime | None = None


Verdict = Admitted | NotAdmitted


def terms_of(effect: Effect | None) -> Terms:
    """The terms that an effect declares."""
    if effect is None:
        return Terms()
    return Terms(effect.call_timeout_seconds, effect.lookup_closes_key, effect.quiet_period_seconds)


def window_end(facts: AttemptFacts, terms: Terms) -> datetime | None:
    """Until when the same call may still be sent as the same effect (R26); None where the provider certifies nothing."""
    if not facts.deduplicates or facts.key_window_seconds is None:
        return None
    timeout = terms.call_timeout_seconds
    if timeout is None:
        timeout = (facts.call_deadline - facts.prepared_at).total_seconds()
    return facts.first_prepared_at + timedelta(seconds=facts.key_window_seconds - WINDOW_MARGIN_SECONDS - timeout)


def not_applied(facts: AttemptFacts, terms: Terms, look: Look, now: datetime) -> Verdict:
    """The verdict on a look that did not find the effect; `now` and every other time are the store's."""
    window = window_end(facts, terms)
    if window is not None and now <= window:
        if _ended(facts, look) is None and look.started_at <= facts.call_deadline:
            return NotAdmitted(_may_still_answer(facts), facts.call_deadline)
        return Admitted("the provider knows our key, so that a repeat is the same effect", window)
    if look.closed_key:
        return Admitted("the lookup closed the key at the provider")
    return _quiet(facts, terms, look)


def _may_still_answer(facts: AttemptFacts) -> str:
    """R25: a repeat would do no harm, but the answer of the attempt before it would contradict what was concluded."""
    return f"the attempt may still answer until {facts.call_deadline:%Y-%m-%d %H:%M:%S} UTC"


def _quiet(facts: AttemptFacts, terms: Terms, look: Look) -> Verdict:
    """R22 (c): nothing is sent any more, and what was sent has had its time to arrive."""
    ended = _ended(facts, look)
    if ended is None:
        return NotAdmitted(_still_running(facts))
    quiet = terms.quiet_period_seconds
    if quiet is None and not look.by_person:
        return NotAdmitted(
            "the effect declares no quiet period: only a person can say that no request is still on its way"
        )
    silent_from = max(ended, facts.call_deadline) + timedelta(seconds=quiet or 0.0)
    if look.started_at <= silent_from:
        return NotAdmitted(f"a request may still be on its way until {silent_from:%Y-%m-%d %H:%M:%S} UTC", silent_from)
    return Admitted("the attempt is over and nothing is on its way any more")


def _ended(facts: AttemptFacts, look: Look) -> datetime | None:
    """Since when nothing is sent any more; None where nothing proves it.

    The operation's own return is exact, the others are proofs that it can not be running. A reconciler's retry is in no
    process's row: only people know that it is over.
    """
    if facts.retry_unfinished:
        proofs, returned = [look.workers_stopped_at], None
    else:
        proofs, returned = [look.workers_stopped_at, facts.died_at], facts.returned_at
    return returned or min((proof for proof in proofs if proof is not None), default=None)


def _still_running(facts: AttemptFacts) -> str:
    if facts.retry_unfinished:
        return "a repeat of the call was never seen to end; it needs a person who has stopped the workers"
    return f"the attempt was never seen to end, and its process {facts.instance!r} is not known to have stopped"
