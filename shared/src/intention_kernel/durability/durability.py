"""The spine: one delivered request, one durable turn (protocol 1). Begin, run, end; every ending is a committed row."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import assert_never

from intention_kernel.clock import Clock
from intention_kernel.containment import contained
from intention_kernel.contracts.checkpoint import SCHEMA_REVISION
from intention_kernel.contracts.json_codec import dumps, loads
from intention_kernel.contracts.turn_request import ReconciliationTrigger, TurnRequest
from intention_kernel.durability import endings
from intention_kernel.durability.effect_attempt import EffectAttempts
from intention_kernel.durability.journal import RESTORED, Journal, resumed_turn
from intention_kernel.durability.lease import Lease, LeaseKeeper
from intention_kernel.durability.operations import ABANDON_AFTER_SECONDS, AbandonedOperations
from intention_kernel.durability.outcome import (
    BeginAgain,
    Outcome,
    TurnConflict,
    TurnFailed,
    TurnRejected,
    TurnReplayed,
)
from intention_kernel.durability.process import DurableStore, ProcessIdentity
from intention_kernel.durability.program_run import ended
from intention_kernel.durability.turn_scope import DurableScope
from intention_kernel.errors import DeadlineError, InfrastructureError, LeaseLostError, TurnHeldError, words_of
from intention_kernel.failpoints import failpoint
from intention_kernel.ports.turn_body import Delivery, Draft, Opened, TurnAttempt, TurnBody
from intention_kernel.ports.turn_store import (
    AlreadySetAside,
    Begin,
    BeginAnswer,
    Begun,
    Busy,
    Conflict,
    Contended,
    Deleted,
    Exhausted,
    Held,
    Replayed,
)

logger = logging.getLogger(__name__)

CRASHES_BEFORE_ALONE = 2
"""A turn whose attempts ended that often with their process runs alone (protocol R6)."""


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """Spans of one attempt. A lease may end `grace_seconds` after the turn's deadline, never later (R12)."""

    lease_seconds: float
    attempts: int
    grace_seconds: float = 5.0


class Durability:
    """Durable turns over any store. One per process; `abandoned` keeps operations that outlived their turn."""

    def __init__(self, store: DurableStore, clock: Clock, limits: TurnLimits, process: ProcessIdentity) -> None:
        self.abandoned = AbandonedOperations()
        self._store = store
        self._clock = clock
        self._limits = limits
        self._process = process

    async def with_turn(self, delivery: Delivery, body: TurnBody | None) -> Outcome | BeginAgain:
        """Run `body` for this request and commit what it drafts, at most once per turn id.

        `body` may run more than once; its draft counts once. None is an agent that this build does not know. Raises
        InfrastructureError where nothing was decided: deliver the same value again.
        """
        request = delivery.request
        asked_at_seconds = self._clock.monotonic_seconds()
        match await self._begin(delivery, body):
            case Begun() as begun:
                await failpoint("runner.after_begin")
                return await self._begun(delivery, body, begun, asked_at_seconds)
            case Exhausted(begun=begun):
                detail = f"{begun.attempt - 1} attempts ended without an outcome"
                # This begin found none left: it is no attempt.
                opened = Opened(delivery, replace(begun, attempt=begun.attempt - 1), None)
                return await endings.set_aside(self._store, body, opened, "attempts_used_up", detail)
            case Replayed(result=result):
                return TurnReplayed(result)
            case Conflict():
                detail = f"turn {request.turn_id} has other content on this thread"
                await self._store.reject(endings.rejection_of(delivery, "conflict", detail))
                return TurnConflict()
            case AlreadySetAside(reason=reason):
                return TurnFailed(reason, "set aside by an earlier delivery", already=True)
            case Deleted():
                await self._store.reject(endings.rejection_of(delivery, "thread_deleted", "the thread is deleted"))
                return TurnRejected("thread_deleted", "the thread is deleted")
            case Held() as held:
                return BeginAgain("held", _misfit(held, body))
            case Busy():
                return BeginAgain("busy")
            case Contended():
                return BeginAgain("contended")
            case never:
                assert_never(never)

    async def _begin(self, delivery: Delivery, body: TurnBody | None) -> BeginAnswer:
        request = delivery.request
        any_build = body is None or delivery.held_too_long is not None
        return await self._store.begin(
            Begin(
                thread_id=request.thread_id,
                turn_id=request.turn_id,
                digest=request.content_digest(),
                nonce=delivery.nonce,
                agent_id=request.agent_id,
                tenant_id=request.tenant_id,
                accepts=None if any_build or body is None else body.accepts,
                schema_revision=SCHEMA_REVISION,
                attempts_limit=self._limits.attempts,
                lease_seconds=self._limits.lease_seconds,
            )
        )

    async def _begun(
        self, delivery: Delivery, body: TurnBody | None, begun: Begun, asked_at_seconds: float
    ) -> Outcome | BeginAgain:
        request = delivery.request
        opened = Opened(delivery, begun, None)
        refusal = _refusal(delivery, body, begun)
        if refusal is not None or body is None:
            return await endings.reject(self._store, opened, *(refusal or ("unknown_agent", request.agent_id)))
        if delivery.held_too_long is not None:
            return await endings.set_aside(self._store, body, opened, "held_too_long", delivery.held_too_long)
        if begun.crashes >= CRASHES_BEFORE_ALONE and not delivery.alone:
            await self._store.release(request.thread_id, begun.fence, count_attempt=False)
            return BeginAgain("alone", f"{begun.crashes} attempts ended with their process", begun.attempt)
        if isinstance(request.trigger, ReconciliationTrigger):
            trigger = request.trigger
            continuation = await self._store.continuation(request.thread_id, trigger.receipt_id, trigger.settlement)
            if continuation is None:
                detail = f"receipt {trigger.receipt_id} has no settlement {trigger.settlement}"
                return await endings.reject(self._store, opened, "forged_continuation", detail)
            opened = Opened(delivery, begun, continuation)
        return await self._run(body, opened, asked_at_seconds)

    async def _run(self, body: TurnBody, opened: Opened, asked_at_seconds: float) -> Outcome | BeginAgain:
        attempt = self._attempt(body, opened, asked_at_seconds)
        lease = Lease(self._clock, asked_at_seconds, self._limits.lease_seconds)
        scope = self._scope(opened, attempt, lease)
        keeper = LeaseKeeper(
            self._store,
            self._clock,
            lease,
            attempt.thread_id,
            attempt.fence,
            attempt.lease_seconds,
            attempt.end_seconds + self._limits.grace_seconds,
        )
        keeper.start()
        try:
            draft = await self._draft(body, opened, scope)
            return await endings.commit(self._store, body, opened, scope, draft)
        except asyncio.CancelledError:
            await asyncio.shield(self._let_go(attempt, count_attempt=False))
            raise
        except Exception as error:  # noqa: BLE001 - whatever a program raises is this attempt's failure, told below
            return await self._failed(body, opened, scope, error)
        finally:
            keeper.stop()

    async def _draft(self, body: TurnBody, opened: Opened, scope: DurableScope) -> Draft:
        task = asyncio.get_running_loop().create_task(contained(lambda: body.run(opened, scope)))
        try:
            seconds = scope.attempt.end_seconds - self._clock.monotonic_seconds()
            done, _ = await asyncio.wait({task}, timeout=max(seconds, 0))
            if not done:
                raise DeadlineError(f"the turn did not end within its {seconds:.3g} seconds")
            draft = ended(task)
        finally:
            # A body that ignores its cancellation is left to itself: it can neither commit nor start an effect.
            task.cancel()
            await asyncio.wait({task}, timeout=ABANDON_AFTER_SECONDS)
            await scope.close()
        if scope.broken is not None:
            raise scope.broken
        return draft

    async def _failed(
        self, body: TurnBody, opened: Opened, scope: DurableScope, error: Exception
    ) -> Outcome | BeginAgain:
        attempt, cause = scope.attempt, scope.broken or error
        if isinstance(cause, InfrastructureError):
            with suppress(InfrastructureError):
                await self._let_go(attempt, count_attempt=False)
            raise cause
        if isinstance(cause, LeaseLostError | TurnHeldError):
            await self._let_go(attempt, count_attempt=False)
            return BeginAgain("held" if isinstance(cause, TurnHeldError) else "fenced", str(cause), attempt.number)
        detail = words_of(cause)
        logger.warning(
            "turn.attempt_failed", exc_info=cause, extra={"thread_id": attempt.thread_id, "turn_id": attempt.turn_id}
        )
        if attempt.number >= self._limits.attempts:
            return await endings.set_aside(self._store, body, opened, "attempts_used_up", detail)
        await self._let_go(attempt, count_attempt=True)
        return BeginAgain("attempt_failed", detail, attempt.number)

    async def _let_go(self, attempt: TurnAttempt, *, count_attempt: bool) -> None:
        await self._store.release(attempt.thread_id, attempt.fence, count_attempt=count_attempt)

    def _attempt(self, body: TurnBody, opened: Opened, started_seconds: float) -> TurnAttempt:
        request, begun, continuation = opened.delivery.request, opened.begun, opened.continuation
        resumed_at_ms = continuation.requested_at_ms if continuation else None
        timeout = min(body.timeout_seconds, request.deadline_seconds or body.timeout_seconds)
        return TurnAttempt(
            thread_id=request.thread_id,
            turn_id=request.turn_id,
            agent_id=request.agent_id,
            tenant_id=request.tenant_id,
            fence=begun.fence,
            number=begun.attempt,
            host_context=_host_context(opened),
            requested_at_ms=resumed_at_ms or begun.requested_at_ms or opened.delivery.origin.timestamp_ms,
            lease_seconds=self._limits.lease_seconds,
            end_seconds=started_seconds + timeout,
            restored=_restored(opened),
        )

    def _scope(self, opened: Opened, attempt: TurnAttempt, lease: Lease) -> DurableScope:
        begun, continuation = opened.begun, opened.continuation
        journal = Journal(begun.journal, resumed_turn(continuation) if continuation else None)
        if attempt.restored:
            journal.append(RESTORED)
        attempts = EffectAttempts(attempt, self._process, self._store, self._clock, lease, journal, self.abandoned)
        return DurableScope(attempt, attempts, self._clock, lease, journal)


def _restored(opened: Opened) -> bool:
    """Whether a database that is lost may have had this turn, or the one that it resumes (R39)."""
    continuation = opened.continuation
    earlier = (*opened.begun.journal, *(continuation.journal if continuation else ()))
    return opened.delivery.restored or any(entry.entry == RESTORED.entry for entry in earlier)


def _host_context(opened: Opened) -> bytes:
    """What the host said of the request that runs; resolvers read it on the receipt. A continuation's own request carries
    ids only: what counts is that of the turn that it resumes (interface 2)."""
    stored = opened.continuation.request if opened.continuation else None
    if stored is None:
        return dumps(opened.delivery.request.host_context)
    return dumps(TurnRequest.model_validate(loads(stored)).host_context)


def _refusal(delivery: Delivery, body: TurnBody | None, begun: Begun) -> tuple[str, str] | None:
    """Why a request that can be decoded can never run on this thread, if so (interface 2)."""
    request = delivery.request
    if begun.agent_id is not None and begun.agent_id != request.agent_id:
        return "agent_mismatch", f"the thread belongs to agent {begun.agent_id}"
    if begun.agent_id is not None and begun.tenant_id != request.tenant_id:
        return "tenant_mismatch", "the thread belongs to another tenant"
    if body is None:
        return "unknown_agent", f"this application has no agent {request.agent_id!r}"
    return None


def _misfit(held: Held, body: TurnBody | None) -> str:
    ours = body.fingerprint if body else "none"
    return (
        f"the thread has fingerprint {held.fingerprint} and schema revision {held.schema_revision}, "
        f"this build {ours} and {SCHEMA_REVISION}"
    )
