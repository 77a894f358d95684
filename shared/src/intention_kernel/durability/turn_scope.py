"""What a turn may do while it runs: effects with receipts, and results that join the journal (protocol 3)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NoReturn

from intention_kernel.agent.context import EffectResult, Operation, ReceiptReference
from intention_kernel.agent.effect import Effect
from intention_kernel.clock import Clock
from intention_kernel.contracts.digest import digest, payload_fingerprint
from intention_kernel.contracts.identifiers import identifier_problem
from intention_kernel.contracts.json_codec import JsonValue, check, loads
from intention_kernel.contracts.receipt import Summary
from intention_kernel.durability.effect_attempt import (
    EffectAttempts,
    NotApplied,
    OtherPayload,
    Seen,
    Unknown,
    Value,
    WantedEffect,
)
from intention_kernel.durability.journal import (
    Journal,
    body_of,
    failed_entry,
    outcome_name,
    recorded_entry,
    recorded_name,
    uncertain_entry,
    value_entry,
)
from intention_kernel.durability.lease import Lease
from intention_kernel.errors import (
    DeadlineError,
    EffectClosedError,
    EffectConflictError,
    EffectKeyError,
    EffectNotAppliedError,
    EffectUncertainError,
    InfrastructureError,
    IntentionKernelError,
    LeaseLostError,
    TurnHeldError,
)
from intention_kernel.ids import receipt_id
from intention_kernel.ports.turn_body import TurnAttempt, UncertainStep
from intention_kernel.ports.turn_store import JournalEntry

START_MARGIN_SECONDS = 0.1
"""Nothing is started that close to the end of the lease or the turn: a prepare has to arrive in time (R19)."""

LONGEST_TITLE = 500
"""Characters of a title that are kept: it is part of what the user is told of a blocked step."""

_inside: ContextVar[frozenset[str]] = ContextVar("effects_being_called", default=frozenset())


@dataclass(slots=True)
class _Running:
    fingerprint: bytes
    result: asyncio.Task[Seen]
    operation: asyncio.Future[asyncio.Task[JsonValue]]


class DurableScope:
    """The scope of one attempt (ports.turn_body.TurnScope).

    `broken` is the error after which this attempt can neither go on nor commit, whatever its program makes of it.
    """

    def __init__(
        self, attempt: TurnAttempt, attempts: EffectAttempts, clock: Clock, lease: Lease, journal: Journal
    ) -> None:
        self.attempt = attempt
        self.broken: IntentionKernelError | None = None
        self.met: set[str] = set(journal.waived)
        self.uncertain: dict[str, UncertainStep] = {}
        self.receipts: dict[str, ReceiptReference] = {}
        self._attempts = attempts
        self._clock = clock
        self._lease = lease
        self._journal = journal
        self._closed = False
        self._running: dict[str, _Running] = {}
        self._seen: dict[str, tuple[bytes, Value | Unknown]] = {}
        self._ordinals: Counter[str] = Counter()
        self._recorded: Counter[str] = Counter()
        self._cancelled: set[str] = set()

    async def run_effect(self, effect: Effect, key: str, operation: Operation, payload: JsonValue) -> EffectResult:
        """The effect's value, with at most one call. Returns once the outcome is durable (R18); errors in errors.py."""
        self._check_usable()
        effect_key = _checked_key(effect, key)
        fingerprint = payload_fingerprint(payload)
        if effect_key in _inside.get():
            raise EffectClosedError("asked for from inside its own operation", effect_key=effect_key)
        seen = self._seen_before(effect_key, fingerprint)
        if seen is None:
            running = self._running.get(effect_key) or self._start(effect, effect_key, fingerprint, operation, payload)
            if running.fingerprint != fingerprint:
                raise _conflict(effect_key)
            seen = await self._await(effect_key, running)
        return self._answer(effect_key, fingerprint, seen)

    async def recorded(self, name: str, request: JsonValue, operation: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
        """A model's or step's result; from the journal where an earlier attempt recorded the same request (R16)."""
        self._check_usable()
        self._recorded[name] += 1
        entry_name = recorded_name(name, self._recorded[name])
        request_digest = digest(request)
        entry = self._journal.find(entry_name)
        if entry is not None and entry.request_digest == request_digest:
            return loads(entry.body)
        if entry is not None and self._journal.binds(entry_name, self.met):
            raise self._break(
                TurnHeldError(
                    f"journal entry {entry_name}",
                    expected=f"request {entry.request_digest.hex()}",
                    found=f"request {request_digest.hex()}",
                )
            )
        result = await operation()
        check(result)
        self._journal.append(recorded_entry(entry_name, request_digest, result))
        return result

    def hold(self, why: TurnHeldError) -> NoReturn:
        """The attempt ends here and counts for nothing (R8)."""
        raise self._break(why)

    def unclaimed(self) -> tuple[str, ...]:
        """The keys that earlier attempts prepared and this one has not met (R15)."""
        return tuple(sorted(self._journal.claims - self.met))

    def pending_journal(self) -> tuple[JournalEntry, ...]:
        """What no transaction carried yet, for the commit."""
        return self._journal.pending

    async def finish(self, effect_keys: Iterable[str]) -> None:
        """Effects of these keys that are under way are cancelled, and their outcome is recorded before this returns (R18)."""
        under_way = {key: running for key in effect_keys if (running := self._running.get(key)) is not None}
        for key in under_way.keys() - self._cancelled:
            self._cancelled.add(key)
            _cancel_operation(under_way[key])
        for running in under_way.values():
            await asyncio.wait({running.result})

    async def close(self) -> None:
        """Nothing may start any more; effects under way are cancelled and their outcome is recorded before this returns."""
        self._closed = True
        for running in tuple(self._running.values()):
            _cancel_operation(running)
        for running in tuple(self._running.values()):
            await asyncio.wait({running.result})

    def _check_usable(self) -> None:
        if self.broken is not None:
            raise self.broken
        if self._closed:
            raise EffectClosedError("the turn is over")

    def _seen_before(self, effect_key: str, fingerprint: bytes) -> Seen | None:
        known = self._seen.get(effect_key)
        if known is None:
            return None
        return known[1] if known[0] == fingerprint else OtherPayload()

    def _start(
        self, effect: Effect, effect_key: str, fingerprint: bytes, operation: Operation, payload: JsonValue
    ) -> _Running:
        summary = _checked_summary(effect, payload)
        self._ordinals[effect_key] += 1
        wanted = WantedEffect(effect, effect_key, self._ordinals[effect_key], fingerprint, payload, summary)
        loop = asyncio.get_running_loop()
        started: asyncio.Future[asyncio.Task[JsonValue]] = loop.create_future()
        token = _inside.set(_inside.get() | {effect_key})
        task = loop.create_task(self._meet(wanted, operation, started))
        _inside.reset(token)
        running = _Running(fingerprint, task, started)
        self._running[effect_key] = running
        task.add_done_callback(lambda done: self._finished(wanted, done))
        return running

    def _finished(self, wanted: WantedEffect, task: asyncio.Task[Seen]) -> None:
        self._running.pop(wanted.effect_key, None)
        if task.cancelled() or task.exception() is not None:
            return
        seen = task.result()
        if not isinstance(seen, OtherPayload):
            self._meet_claim(wanted.effect_key)
            self._note(wanted, seen)

    def _meet_claim(self, effect_key: str) -> None:
        self.met.add(effect_key)
        self.met.add(self._journal.stand_ins.get(effect_key, effect_key))

    def _note(self, wanted: WantedEffect, seen: Value | Unknown | NotApplied) -> None:
        key = wanted.effect_key
        own = receipt_id(self.attempt.thread_id, key)
        if isinstance(seen, Unknown):
            told = key not in self._cancelled
            self.uncertain[key] = UncertainStep(key, seen.receipt_id, seen.effect_key, wanted.summary.title, told)
            self.receipts[key] = ReceiptReference(seen.receipt_id, key, "uncertain", wanted.ordinal)
        elif isinstance(seen, Value):
            self.receipts[key] = ReceiptReference(own, key, "completed", seen.attempt)
        else:
            self.receipts[key] = ReceiptReference(own, key, "failed", wanted.ordinal)
        if not isinstance(seen, NotApplied):
            self._seen[key] = (wanted.fingerprint, seen)

    async def _meet(
        self, wanted: WantedEffect, operation: Operation, started: asyncio.Future[asyncio.Task[JsonValue]]
    ) -> Seen:
        entry = self._journal.find(outcome_name(wanted.effect_key, wanted.ordinal))
        if entry is not None:
            return _as_seen(entry, wanted, receipt_id(self.attempt.thread_id, wanted.effect_key))
        await self._check_claims(wanted.effect_key)
        self._check_time(wanted.effect_key)
        try:
            seen = await self._attempts.make(wanted, operation, started)
            while (twin := self._running_twin(wanted, seen)) is not None:
                await asyncio.wait({twin.result})
                seen = await self._attempts.make(wanted, operation, started)
        except (LeaseLostError, DeadlineError, InfrastructureError) as error:
            raise self._break(error) from error
        if not started.done():
            self._journal_seen(wanted, seen)
        return seen

    def _running_twin(self, wanted: WantedEffect, seen: Seen) -> _Running | None:
        """An effect of this very attempt that is under way with the same payload: its outcome decides, not a settlement."""
        if isinstance(seen, Unknown) and seen.effect_key != wanted.effect_key:
            return self._running.get(seen.effect_key)
        return None

    def _journal_seen(self, wanted: WantedEffect, seen: Seen) -> None:
        """An outcome that the program sees without a transition rides on the next one (R16)."""
        key, ordinal, fingerprint = wanted.effect_key, wanted.ordinal, wanted.fingerprint
        match seen:
            case Value(value=value, attempt=attempt):
                self._journal.append(value_entry(key, ordinal, fingerprint, value, attempt))
            case Unknown(receipt_id=open_receipt_id, effect_key=waits_for):
                self._journal.append(uncertain_entry(key, ordinal, fingerprint, open_receipt_id, waits_for))
            case NotApplied(detail=detail):
                self._journal.append(failed_entry(key, ordinal, fingerprint, detail))
            case OtherPayload():
                pass  # decided by the receipt's fingerprint, which never changes: the retry sees the same

    async def _check_claims(self, effect_key: str) -> None:
        if effect_key in self._journal.claims:
            self._meet_claim(effect_key)
            return
        if self.unclaimed():
            await asyncio.sleep(0)  # parallel steps start in one round of the loop: let the others claim theirs
        missing = self.unclaimed()
        if missing:
            raise self._break(
                TurnHeldError("journal", expected=f"effects {', '.join(missing)} first", found=f"effect {effect_key}")
            )

    def _check_time(self, effect_key: str) -> None:
        if self._clock.monotonic_seconds() + START_MARGIN_SECONDS >= self.attempt.end_seconds:
            raise DeadlineError(f"{effect_key}: the turn's deadline is too near to start an effect")
        if not self._lease.allows(min(START_MARGIN_SECONDS, self.attempt.lease_seconds / 10)):
            raise self._break(LeaseLostError(f"{effect_key}: the lease is over"))

    async def _await(self, effect_key: str, running: _Running) -> Seen:
        try:
            return await asyncio.shield(running.result)
        except asyncio.CancelledError:
            self._cancelled.add(effect_key)
            _cancel_operation(running)
            raise

    def _answer(self, effect_key: str, fingerprint: bytes, seen: Seen) -> EffectResult:
        match seen:
            case Value(value=value):
                return EffectResult(value, self.receipts[effect_key])
            case Unknown(receipt_id=open_receipt_id, detail=detail):
                raise EffectUncertainError(detail, effect_key=effect_key, receipt_id=open_receipt_id)
            case NotApplied(detail=detail):
                raise EffectNotAppliedError(detail, effect_key=effect_key)
            case OtherPayload():
                raise _conflict(effect_key)

    def _break(self, error: IntentionKernelError) -> IntentionKernelError:
        self.broken = self.broken or error
        return self.broken


def _checked_key(effect: Effect, key: str) -> str:
    effect_key = f"{effect.id}:{key}"
    problem = "is empty" if not key else identifier_problem(effect_key)
    if problem:
        raise EffectKeyError(f"an effect key {problem}", effect_key=effect_key)
    return effect_key


def _checked_summary(effect: Effect, payload: JsonValue) -> Summary:
    """What `describe` says, if it is one; it must not take the statement down that carries it with its neighbours'."""
    summary: object = effect.describe(payload)
    fits = (
        isinstance(summary, Summary)
        and isinstance(summary.title, str)
        and isinstance(summary.provider, str | None)
        and isinstance(summary.amount, Decimal | None)
        and isinstance(summary.currency, str | None)
    )
    if not isinstance(summary, Summary) or not fits:
        raise TypeError(
            f"describe of effect {effect.id!r} returned {str(summary)[:200]}, not a Summary of the declared types"
        )
    return replace(summary, title=summary.title[:LONGEST_TITLE])


def _conflict(effect_key: str) -> EffectConflictError:
    return EffectConflictError("the key belongs to another payload", effect_key=effect_key)


def _cancel_operation(running: _Running) -> None:
    if not running.operation.done():
        running.operation.cancel()  # not called yet: it never will be
    elif not running.operation.cancelled():
        running.operation.result().cancel()


def _as_seen(entry: JournalEntry, wanted: WantedEffect, own_receipt_id: str) -> Seen:
    """What the earlier attempt's program saw, whatever the receipt says now (R16)."""
    if entry.request_digest != wanted.fingerprint:
        return OtherPayload()
    document = body_of(entry)
    if entry.outcome == "value":
        attempt = document["attempt"]
        return Value(document["value"], attempt if isinstance(attempt, int) else 1)
    if entry.outcome == "failed":
        return NotApplied(str(document.get("detail", "")))
    waits_for = str(document.get("waitsFor", wanted.effect_key))
    return Unknown(str(document.get("receiptId", own_receipt_id)), waits_for, "an earlier attempt's outcome is unknown")
