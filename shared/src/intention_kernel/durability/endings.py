"""The fenced endings of a turn: commit, set aside, reject. Each repeats its statement until the store has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import assert_never

from intention_kernel.contracts.checkpoint import SCHEMA_REVISION
from intention_kernel.contracts.turn_request import ReconciliationTrigger, continuation_issue, encode_turn_request
from intention_kernel.durability.effect_attempt import CONTENDED_WAIT_SECONDS
from intention_kernel.durability.outcome import (
    BeginAgain,
    Outcome,
    TurnCommitted,
    TurnFailed,
    TurnRejected,
    TurnReplayed,
)
from intention_kernel.durability.process import DurableStore
from intention_kernel.durability.turn_scope import DurableScope
from intention_kernel.errors import TurnHeldError
from intention_kernel.failpoints import failpoint
from intention_kernel.ids import jittered_seconds
from intention_kernel.ports.rejections import Rejection
from intention_kernel.ports.turn_body import Delivery, Draft, Failure, Opened, Render, TurnBody
from intention_kernel.ports.turn_store import (
    BlockedStep,
    Commit,
    CommitAnswer,
    Committed,
    Contended,
    ContinuationOf,
    Fenced,
    Replayed,
    Resequence,
    SetAside,
    Unclaimed,
)


async def commit(
    store: DurableStore, body: TurnBody, opened: Opened, scope: DurableScope, draft: Draft
) -> Outcome | BeginAgain:
    """Make the draft durable. Raises TurnHeldError where earlier effects were not met, and what `render` raises."""
    await failpoint("runner.before_commit")
    answer = await _until_answered(
        opened.begun.next_sequence,
        lambda sequence: store.commit(_commit(body, opened, scope, draft, sequence)),
    )
    match answer:
        case Committed(revision=revision):
            await failpoint("runner.after_commit")
            return TurnCommitted(revision, draft.result)
        case Unclaimed(effect_keys=keys):
            raise TurnHeldError("journal", expected=f"effects {', '.join(keys)}", found="a commit without them")
        case Replayed(result=result):
            return TurnReplayed(result)
        case Fenced():
            return BeginAgain("fenced")
        case never:
            assert_never(never)


async def set_aside(
    store: DurableStore, body: TurnBody | None, opened: Opened, reason: str, detail: str
) -> Outcome | BeginAgain:
    """Give the turn up, with its event and what it holds."""
    request, begun = opened.delivery.request, opened.begun
    if body is None:
        return await reject(store, opened, reason, detail)
    receipts = await store.held_receipts(request.thread_id, request.turn_id)
    render = body.failed(opened, Failure(reason, detail, begun.attempt, receipts))
    answer = await _until_answered(
        begun.next_sequence,
        lambda sequence: store.set_aside(_set_aside(opened, reason, detail, render, sequence)),
    )
    match answer:
        case Committed():
            return TurnFailed(reason, detail)
        case Replayed(result=result):
            return TurnReplayed(result)
        case Fenced() | Unclaimed():
            return BeginAgain("fenced")
        case never:
            assert_never(never)


async def reject(store: DurableStore, opened: Opened, reason: str, detail: str) -> Outcome | BeginAgain:
    """Refuse a request that can be decoded: a fenced commit of its own (R5)."""
    rejection = rejection_of(opened.delivery, reason, detail)
    begun = opened.begun
    answer = await _until_answered(
        begun.next_sequence,
        lambda _: store.reject_begun(rejection, fence=begun.fence, revision=begun.revision),
    )
    match answer:
        case Committed():
            return TurnRejected(reason, detail)
        case Replayed(result=result):
            return TurnReplayed(result)
        case Fenced() | Unclaimed():
            return BeginAgain("fenced")
        case never:
            assert_never(never)


def rejection_of(delivery: Delivery, reason: str, detail: str) -> Rejection:
    """The row of a request that can be decoded and is refused."""
    request = delivery.request
    return Rejection(delivery.origin, reason, detail, request.thread_id, request.turn_id)


async def _until_answered(
    sequence: int, call: Callable[[int], Awaitable[CommitAnswer]]
) -> Committed | Replayed | Fenced | Unclaimed:
    while True:
        answer = await call(sequence)
        match answer:
            case Resequence(next_sequence=now):
                sequence = now
            case Contended():
                await asyncio.sleep(jittered_seconds(CONTENDED_WAIT_SECONDS))
            case _:
                return answer


def _commit(body: TurnBody, opened: Opened, scope: DurableScope, draft: Draft, sequence: int) -> Commit:
    request, begun = opened.delivery.request, opened.begun
    events = draft.render(sequence, begun.incarnation)
    blocked_turn_id = opened.resumed_turn_id or request.turn_id
    return Commit(
        thread_id=request.thread_id,
        turn_id=request.turn_id,
        digest=request.content_digest(),
        fence=begun.fence,
        revision=begun.revision,
        next_sequence=sequence,
        agent_id=request.agent_id,
        tenant_id=request.tenant_id,
        fingerprint=body.fingerprint,
        schema_revision=SCHEMA_REVISION,
        checkpoint=draft.checkpoint,
        request=encode_turn_request(request),
        requested_at_ms=scope.attempt.requested_at_ms,
        result=draft.result,
        status=draft.status,
        events=events.block,
        event_count=events.count,
        blocked=tuple(BlockedStep(effect_key, blocked_turn_id) for effect_key in draft.blocked),
        claimed=tuple(sorted(scope.met)),
        journal=scope.pending_journal(),
        continuation=_continuation_of(opened),
    )


def _continuation_of(opened: Opened) -> ContinuationOf | None:
    request, continuation = opened.delivery.request, opened.continuation
    if continuation is None or not isinstance(request.trigger, ReconciliationTrigger):
        return None
    issue = continuation_issue(request.turn_id, request.trigger)
    return ContinuationOf(continuation.effect_key, request.trigger.settlement, issue or 1, continuation.resumed_turn_id)


def _set_aside(opened: Opened, reason: str, detail: str, render: Render, sequence: int) -> SetAside:
    request, begun = opened.delivery.request, opened.begun
    events = render(sequence, begun.incarnation)
    return SetAside(
        thread_id=request.thread_id,
        turn_id=request.turn_id,
        digest=request.content_digest(),
        fence=begun.fence,
        revision=begun.revision,
        next_sequence=sequence,
        reason=reason,
        detail=detail,
        attempts=begun.attempt,
        origin=opened.delivery.origin,
        events=events.block,
        event_count=events.count,
    )
