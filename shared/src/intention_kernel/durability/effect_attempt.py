"""One attempt of one effect: prepare, call, end. The call is made only between a prepare and an end (protocol R3, R14)."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal
from uuid import UUID

from intention_kernel.agent.context import Operation
from intention_kernel.agent.effect import Effect, EffectAuthority
from intention_kernel.clock import Clock
from intention_kernel.containment import contained
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.contracts.receipt import Summary
from intention_kernel.durability.journal import Journal, claim_entry, failed_entry, uncertain_entry, value_entry
from intention_kernel.durability.lease import Lease
from intention_kernel.durability.operations import AbandonedOperations, finish_or_cancel
from intention_kernel.durability.process import ProcessIdentity
from intention_kernel.errors import (
    LONGEST_DETAIL,
    DeadlineError,
    EffectNotAppliedError,
    InfrastructureError,
    JsonError,
    LeaseLostError,
    words_of,
)
from intention_kernel.failpoints import failpoint
from intention_kernel.ids import jittered_seconds, random_id, receipt_id
from intention_kernel.ports.effect_store import (
    Completed,
    EffectStore,
    EndAnswer,
    EndAttempt,
    FailedAlready,
    Prepare,
    Prepared,
    Taken,
    Uncertain,
)
from intention_kernel.ports.turn_body import TurnAttempt
from intention_kernel.ports.turn_store import Contended, Fenced, JournalEntry

logger = logging.getLogger(__name__)

CONTENDED_WAIT_SECONDS = 0.02
STORE_IN_TROUBLE_SECONDS = 1.0
"""A prepare takes milliseconds; one that takes so long was asked while the database was away or next to it."""

_LEASES = 2.5
"""So many lease times after an attempt's end no copy of its statements is let in any more: one of a renewal may have come last."""


@dataclass(frozen=True, slots=True)
class WantedEffect:
    """A program's call of run_effect: `ordinal` counts the calls of this key that made an attempt."""

    effect: Effect
    effect_key: str
    ordinal: int
    fingerprint: bytes
    payload: JsonValue
    summary: Summary


@dataclass(frozen=True, slots=True)
class Value:
    """The effect is applied; this is the provider's value."""

    value: JsonValue
    attempt: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody knows; the receipt, and the key it has, may be a twin's (R20)."""

    receipt_id: str
    effect_key: str
    detail: str


@dataclass(frozen=True, slots=True)
class NotApplied:
    """Proved not applied."""

    detail: str


@dataclass(frozen=True, slots=True)
class OtherPayload:
    """The key belongs to another payload."""


Seen = Value | Unknown | NotApplied | OtherPayload
"""What the program sees of an effect."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the operation itself said."""

    outcome: Literal["completed", "failed", "uncertain"]
    value: JsonValue = None
    stored: bytes | None = None
    detail: str = ""
    returned: bool = True


_NEVER_CALLED = _Answer("failed", detail="the turn ended before the provider was called")


class EffectAttempts:
    """Makes the attempts of one turn's attempt. `journal` rows ride on its statements."""

    def __init__(
        self,
        attempt: TurnAttempt,
        process: ProcessIdentity,
        store: EffectStore,
        clock: Clock,
        lease: Lease,
        journal: Journal,
        abandoned: AbandonedOperations,
    ) -> None:
        self._attempt = attempt
        self._process = process
        self._store = store
        self._clock = clock
        self._lease = lease
        self._journal = journal
        self._abandoned = abandoned

    async def make(
        self, wanted: WantedEffect, operation: Operation, started: asyncio.Future[asyncio.Task[JsonValue]]
    ) -> Seen:
        """Prepare and, where that is granted, call; `started` gets the operation's task once it runs; a cancelled one forbids it.

        Raises LeaseLostError where another attempt has the thread, DeadlineError where the time for the call was over before
        it, InfrastructureError where nothing can be concluded or a store in trouble used up that time.
        """
        attempt_id = random_id()
        seconds = min(wanted.effect.call_timeout_seconds, self._attempt.end_seconds - self._clock.monotonic_seconds())
        not_after = self._clock.now() + timedelta(seconds=seconds)
        called_by = self._clock.monotonic_seconds() + seconds
        try:
            answer = await self._prepare(wanted, attempt_id, seconds)
        except (InfrastructureError, LeaseLostError):
            self._disown(wanted, attempt_id)
            raise
        if isinstance(answer, Uncertain):
            self._disown(wanted, attempt_id)
        if not isinstance(answer, Prepared):
            return _refusal(answer, wanted, receipt_id(self._attempt.thread_id, wanted.effect_key))
        await failpoint("runner.after_prepare")
        if started.cancelled():
            # Not in the journal: no program has seen it, and the next attempt may call.
            await self._never_called(wanted, attempt_id)
            return NotApplied(_NEVER_CALLED.detail)
        # A check cannot close the gap before the send (R22), but it makes it small where the process slept.
        if not self._lease.allows(0.0):
            await self._never_called(wanted, attempt_id)
            raise LeaseLostError(f"{wanted.effect_key}: the lease ran out before the call")
        if self._clock.monotonic_seconds() >= called_by:
            await self._never_called(wanted, attempt_id)
            raise self._too_late(wanted, seconds, called_by - seconds)
        authority = EffectAuthority(
            idempotency_key=wanted.effect_key,
            receipt_id=receipt_id(self._attempt.thread_id, wanted.effect_key),
            thread_id=self._attempt.thread_id,
            attempt=answer.attempt,
            not_after=not_after,
        )
        task = asyncio.get_running_loop().create_task(_call(operation, authority))
        started.set_result(task)
        await finish_or_cancel(task, seconds)
        said = _said(task)
        if said.outcome == "completed":
            await failpoint("runner.after_reply")
        if not task.done():
            self._abandoned.watch(task, lambda: self._record_late(wanted, attempt_id, _said(task)))
        return await self._end(wanted, attempt_id, answer.attempt, said)

    def _too_late(
        self, wanted: WantedEffect, seconds: float, asked_at_seconds: float
    ) -> DeadlineError | InfrastructureError:
        """An attempt that had no time for its call has failed (R19), but not where the store was in trouble meanwhile (R6)."""
        now = self._clock.monotonic_seconds()
        said = f"{wanted.effect_key}: its {seconds:.3g} seconds were over before the call"
        if now - asked_at_seconds < STORE_IN_TROUBLE_SECONDS or now >= self._attempt.end_seconds:
            return DeadlineError(said)
        return InfrastructureError(f"{said}, which the store took {now - asked_at_seconds:.3g} s to prepare")

    async def _prepare(
        self, wanted: WantedEffect, attempt_id: UUID, seconds: float
    ) -> Prepared | Taken | Completed | Uncertain | FailedAlready:
        riders = self._journal.take()
        asked_at = self._clock.monotonic_seconds()
        request = self._prepare_request(wanted, attempt_id, seconds, (*riders, claim_entry(wanted.effect_key)))
        written = False
        try:
            answer = await self._store.prepare(request)
            while isinstance(answer, Contended):
                await asyncio.sleep(jittered_seconds(CONTENDED_WAIT_SECONDS))
                answer = await self._store.prepare(request)
            written = isinstance(answer, Prepared)
        finally:
            if not written:
                self._journal.back(riders)
        if isinstance(answer, Fenced):
            self._lease.lose()
            raise LeaseLostError(f"{wanted.effect_key}: another attempt has the thread, or the lease is over")
        if isinstance(answer, Prepared):
            self._lease.extend(asked_at, self._attempt.lease_seconds)
        return answer

    def _prepare_request(
        self, wanted: WantedEffect, attempt_id: UUID, seconds: float, journal: tuple[JournalEntry, ...]
    ) -> Prepare:
        return Prepare(
            thread_id=self._attempt.thread_id,
            turn_id=self._attempt.turn_id,
            effect_key=wanted.effect_key,
            effect_id=wanted.effect.id,
            fingerprint=wanted.fingerprint,
            payload=dumps(wanted.payload),
            host_context=self._attempt.host_context,
            summary=wanted.summary,
            fence=self._attempt.fence,
            attempt_id=attempt_id,
            agent_id=self._attempt.agent_id,
            tenant_id=self._attempt.tenant_id,
            lease_seconds=self._attempt.lease_seconds,
            call_timeout_seconds=seconds,
            deduplicates=wanted.effect.provider_deduplicates,
            key_window_seconds=wanted.effect.key_window_seconds,
            twins=wanted.effect.twins,
            instance=self._process.instance,
            boot=self._process.boot,
            requested_at_ms=self._attempt.requested_at_ms,
            journal=journal,
            restored=self._attempt.restored,
        )

    async def _end(self, wanted: WantedEffect, attempt_id: UUID, number: int, said: _Answer) -> Seen:
        riders = self._journal.take()
        entry = _outcome_entry(wanted, number, said, receipt_id(self._attempt.thread_id, wanted.effect_key))
        try:
            answer = await self._record(wanted, attempt_id, said, (*riders, entry))
        except InfrastructureError:
            self._abandoned.keep(lambda: self._record_late(wanted, attempt_id, said))
            raise
        if said.outcome == "completed":
            await failpoint("runner.after_completed")
        if not answer.stands:
            return self._unknown(wanted, "the record disagrees with the provider's answer")
        if said.outcome == "completed":
            return Value(said.value, number)
        if said.outcome == "failed":
            return NotApplied(said.detail)
        unknown = self._unknown(wanted, said.detail)
        ids = {"thread_id": self._attempt.thread_id, "turn_id": self._attempt.turn_id}
        extra = {**ids, "receipt_id": unknown.receipt_id}
        logger.warning("effect.uncertain: %s: %s", wanted.effect_key, said.detail, extra=extra)
        return unknown

    async def _record(
        self, wanted: WantedEffect, attempt_id: UUID, said: _Answer, journal: tuple[JournalEntry, ...]
    ) -> EndAnswer:
        end = EndAttempt(
            thread_id=self._attempt.thread_id,
            turn_id=self._attempt.turn_id,
            effect_key=wanted.effect_key,
            attempt_id=attempt_id,
            fence=self._attempt.fence,
            outcome=said.outcome,
            value=said.stored,
            detail=said.detail,
            returned=said.returned,
            requested_at_ms=self._attempt.requested_at_ms,
            journal=journal,
        )
        answer = await self._store.end(end)
        while isinstance(answer, Contended):
            await asyncio.sleep(jittered_seconds(CONTENDED_WAIT_SECONDS))
            answer = await self._store.end(end)
        return answer

    async def _record_late(self, wanted: WantedEffect, attempt_id: UUID, said: _Answer) -> None:
        await self._record(wanted, attempt_id, said, ())

    async def _never_called(self, wanted: WantedEffect, attempt_id: UUID) -> None:
        try:
            await self._record_never_called(wanted, attempt_id)
        except InfrastructureError:
            self._abandoned.keep(lambda: self._record_never_called(wanted, attempt_id))
            raise

    def _disown(self, wanted: WantedEffect, attempt_id: UUID) -> None:
        """Say that no call was made, and none will be, of an attempt that may be prepared all the same.

        An earlier copy of the statement may have been executed before its repeat was refused, or be on its way as long as the
        lease may live; nobody else can ever say that such an attempt is over (R11, R22 c).
        """
        until = self._clock.monotonic_seconds() + _LEASES * self._attempt.lease_seconds
        self._abandoned.keep(lambda: self._record_never_called(wanted, attempt_id, until))

    async def _record_never_called(self, wanted: WantedEffect, attempt_id: UUID, until_seconds: float = 0.0) -> None:
        try:
            await self._record(wanted, attempt_id, _NEVER_CALLED, ())
        except KeyError:
            if self._clock.monotonic_seconds() < until_seconds:
                raise InfrastructureError(f"{wanted.effect_key} is not prepared, and may still be") from None

    def _unknown(self, wanted: WantedEffect, detail: str) -> Unknown:
        return Unknown(receipt_id(self._attempt.thread_id, wanted.effect_key), wanted.effect_key, detail)


async def _call(operation: Operation, authority: EffectAuthority) -> JsonValue:
    return await contained(lambda: operation(authority))


def _said(task: asyncio.Task[JsonValue]) -> _Answer:
    """The operation's own word, and nothing that it does not prove (design 4)."""
    if not task.done():
        return _Answer("uncertain", detail="the operation did not end after its cancellation", returned=False)
    if task.cancelled():
        return _Answer("uncertain", detail="cancelled at its deadline, the outcome is unknown")
    error = task.exception()
    if isinstance(error, EffectNotAppliedError):
        return _Answer("failed", detail=str(error.detail)[:LONGEST_DETAIL])
    if error is not None:
        return _Answer("uncertain", detail=words_of(error))
    value = task.result()
    try:
        return _Answer("completed", value, dumps(value))
    except JsonError as problem:
        return _Answer("uncertain", detail=f"returned, not storable: {problem}")


def _outcome_entry(wanted: WantedEffect, number: int, said: _Answer, own_receipt_id: str) -> JournalEntry:
    key, ordinal, fingerprint = wanted.effect_key, wanted.ordinal, wanted.fingerprint
    if said.outcome == "completed":
        return value_entry(key, ordinal, fingerprint, said.value, number)
    if said.outcome == "failed":
        return failed_entry(key, ordinal, fingerprint, said.detail)
    return uncertain_entry(key, ordinal, fingerprint, own_receipt_id, key)


def _refusal(answer: Taken | Completed | Uncertain | FailedAlready, wanted: WantedEffect, own_receipt_id: str) -> Seen:
    match answer:
        case Taken():
            return OtherPayload()
        case Completed(value=stored, attempt=attempt):
            return Value(loads(stored), attempt)
        case Uncertain(receipt_id=open_receipt_id, effect_key=open_key) if open_key != wanted.effect_key:
            return Unknown(
                open_receipt_id, open_key, "the same payload is open under another key, whose outcome is unknown"
            )
        case Uncertain():
            return Unknown(own_receipt_id, wanted.effect_key, "an earlier attempt's outcome is unknown")
        case FailedAlready():
            return NotApplied("this attempt is recorded as not applied")
