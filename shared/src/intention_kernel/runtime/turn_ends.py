"""What every body of a turn does at its beginning and at its end: read the request and the memory, draft the commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from intention_kernel.agent.agent import Migration
from intention_kernel.agent.context import ReceiptReference
from intention_kernel.clock import Clock
from intention_kernel.contracts.checkpoint import Checkpoint, decode_checkpoint, encode_checkpoint
from intention_kernel.contracts.event import rfc3339
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.contracts.result import Response, StoredResult, TurnStatus
from intention_kernel.contracts.turn_request import TurnRequest
from intention_kernel.errors import TurnLimitError
from intention_kernel.ports.turn_body import Draft, Failure, Opened, Render, TurnScope
from intention_kernel.runtime.context import time_of
from intention_kernel.runtime.events import MAX_AUDIT_BYTES, EventIdentity, EventRecorder, Observers, render_events
from intention_kernel.runtime.stages.memory import TurnMark


def identity_of(opened: Opened) -> EventIdentity:
    """Whose events the turn's are."""
    request = opened.delivery.request
    return EventIdentity(request.thread_id, request.turn_id, request.agent_id, request.correlation())


def mark_of(opened: Opened, scope: TurnScope) -> TurnMark:
    """How the turn signs what it leaves in the memory."""
    request = opened.delivery.request
    return TurnMark(request.thread_id, request.turn_id, rfc3339(time_of(scope.attempt.requested_at_ms)))


def request_to_run(opened: Opened) -> TurnRequest | None:
    """The delivered request, or the one that the resumed turn left; None where nothing waits any more (R30)."""
    if opened.continuation is None:
        return opened.delivery.request
    stored = opened.continuation.request
    return TurnRequest.model_validate(loads(stored)) if stored is not None else None


def memory_of(opened: Opened, agent_id: str, fingerprint: str, migrate: Migration | None) -> Checkpoint:
    """The thread's checkpoint as this build goes on with it; an empty one where it has none."""
    stored = opened.begun.checkpoint
    if stored is None:
        return Checkpoint(agent_id=agent_id, fingerprint=fingerprint)
    checkpoint = decode_checkpoint(stored)
    if checkpoint.fingerprint != fingerprint and migrate is not None:
        checkpoint = migrate(checkpoint)
    return checkpoint.with_agent(agent_id, fingerprint)


def receipt_record(receipt: ReceiptReference) -> Mapping[str, JsonValue]:
    """A receipt as the checkpoint keeps it."""
    return {
        "receiptId": receipt.receipt_id,
        "effectKey": receipt.effect_key,
        "state": receipt.state,
        "attempt": receipt.attempt,
    }


def stored_result(
    opened: Opened, status: TurnStatus, response: Response | None, blocked_on: Iterable[str], facts: Iterable[str]
) -> StoredResult:
    """The turn's result as `turn.completed` and a replay show it."""
    return StoredResult(
        revision=opened.begun.revision + 1,
        status=status,
        response=cast("JsonValue", response.to_json()) if response is not None else None,
        blocked_on=tuple(dict.fromkeys(blocked_on)),
        facts=tuple(sorted(set(facts))),
    )


async def draft_of(
    stored: StoredResult,
    checkpoint: Checkpoint,
    waits_for: Iterable[str],
    recorder: EventRecorder,
    causation_id: str | None = None,
) -> Draft:
    """The turn's end, with `turn.completed` as its last event. `waits_for` are effect keys."""
    shown = stored.to_json(replayed=False)
    await recorder.emit_last("turn.completed", shown, "integration", causation_id=causation_id)
    return Draft(
        status=stored.status,
        checkpoint=encode_checkpoint(checkpoint),
        result=dumps(shown),
        render=recorder.render,
        blocked=tuple(dict.fromkeys(waits_for)),
    )


async def nothing_waits(opened: Opened, checkpoint: Checkpoint, recorder: EventRecorder) -> Draft:
    """A continuation that finds nobody waiting commits its `turn.completed` and nothing else (R30)."""
    return await draft_of(stored_result(opened, "completed", None, (), ()), checkpoint, (), recorder)


def failed_event(opened: Opened, failure: Failure, observers: Observers, clock: Clock) -> Render:
    """`turn.failed`, with the receipts that the turn holds. Its detail is left out where it cannot be redacted."""
    data: dict[str, JsonValue] = {
        "reason": failure.reason,
        "detail": failure.detail,
        "attempts": failure.attempts,
        "receipts": [
            {"receiptId": held.receipt_id, "state": "uncertain" if held.state == "prepared" else held.state}
            for held in failure.receipts
        ],
    }
    try:
        shown = observers.redacted(data)
        if len(dumps(shown)) > MAX_AUDIT_BYTES:
            raise TurnLimitError("the redacted event is too large")
    except Exception:  # noqa: BLE001 - giving a turn up must not depend on the application's function
        shown = {**data, "detail": None}
    event = identity_of(opened).event(0, "turn.failed", "integration", shown, clock.now())
    return lambda first_sequence, incarnation: render_events((event,), first_sequence, incarnation)
