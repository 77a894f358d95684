"""The turn of the boundary benchmarks through PostgresStore."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from intention_kernel.durability.journal import claim_entry, outcome_name, recorded_name
from intention_kernel.errors import IntentionKernelError
from intention_kernel.ids import random_id
from intention_kernel.ports.effect_store import EndAttempt, Prepare, Prepared
from intention_kernel.ports.turn_store import Begin, Begun, Commit, Committed, JournalEntry
from intention_kernel.postgres.store import PostgresStore

from benchmarks.payloads import EVENTS, Payload
from benchmarks.sides import AGENT, CALL_SECONDS, EFFECT, FINGERPRINT, LEASE_SECONDS, REQUESTED_AT_MS, TENANT


@dataclass(frozen=True, slots=True)
class OurSide:
    """See benchmarks.sides.Side."""

    store: PostgresStore
    payloads: Sequence[Payload]
    boot: UUID

    async def turn(self, thread_id: str, number: int) -> None:
        payload = self.payloads[number % len(self.payloads)]
        turn_id, effect_key = f"turn-{number}", f"{EFFECT}:{number}"
        begun = await self.store.begin(_begin(thread_id, turn_id, payload))
        if not isinstance(begun, Begun):
            raise IntentionKernelError(f"begin answered {begun}")
        prepare = self._prepare(thread_id, turn_id, effect_key, begun.fence, payload)
        prepared = await self.store.prepare(prepare)
        if not isinstance(prepared, Prepared):
            raise IntentionKernelError(f"prepare answered {prepared}")
        await self.store.end(_end(prepare, payload))
        committed = await self.store.commit(_commit(prepare, begun, payload))
        if not isinstance(committed, Committed):
            raise IntentionKernelError(f"commit answered {committed}")

    def _prepare(self, thread_id: str, turn_id: str, effect_key: str, fence: int, payload: Payload) -> Prepare:
        recorded = JournalEntry(
            recorded_name("model", 1), "recorded", request_digest=payload.digest, body=payload.journal
        )
        return Prepare(
            thread_id=thread_id,
            turn_id=turn_id,
            effect_key=effect_key,
            effect_id=EFFECT,
            fingerprint=payload.digest,
            payload=payload.effect_payload,
            host_context=b"{}",
            summary=payload.summary,
            fence=fence,
            attempt_id=random_id(),
            agent_id=AGENT,
            tenant_id=TENANT,
            lease_seconds=LEASE_SECONDS,
            call_timeout_seconds=CALL_SECONDS,
            deduplicates=False,
            key_window_seconds=None,
            twins=False,
            instance="benchmark",
            boot=self.boot,
            requested_at_ms=REQUESTED_AT_MS,
            journal=(recorded, claim_entry(effect_key)),
        )


def _begin(thread_id: str, turn_id: str, payload: Payload) -> Begin:
    return Begin(
        thread_id=thread_id,
        turn_id=turn_id,
        digest=payload.digest,
        nonce=random_id(),
        agent_id=AGENT,
        tenant_id=TENANT,
        accepts=(FINGERPRINT,),
        schema_revision=1,
        attempts_limit=5,
        lease_seconds=LEASE_SECONDS,
    )


def _end(prepare: Prepare, payload: Payload) -> EndAttempt:
    seen = JournalEntry(
        outcome_name(prepare.effect_key, 1),
        "outcome",
        prepare.effect_key,
        "value",
        prepare.fingerprint,
        payload.effect_value,
    )
    return EndAttempt(
        thread_id=prepare.thread_id,
        turn_id=prepare.turn_id,
        effect_key=prepare.effect_key,
        attempt_id=prepare.attempt_id,
        fence=prepare.fence,
        outcome="completed",
        value=payload.effect_value,
        detail="",
        returned=True,
        requested_at_ms=REQUESTED_AT_MS,
        journal=(seen,),
    )


def _commit(prepare: Prepare, begun: Begun, payload: Payload) -> Commit:
    return Commit(
        thread_id=prepare.thread_id,
        turn_id=prepare.turn_id,
        digest=payload.digest,
        fence=begun.fence,
        revision=begun.revision,
        next_sequence=begun.next_sequence,
        agent_id=AGENT,
        tenant_id=TENANT,
        fingerprint=FINGERPRINT,
        schema_revision=1,
        checkpoint=payload.checkpoint,
        request=payload.request,
        requested_at_ms=REQUESTED_AT_MS,
        result=payload.result,
        status="completed",
        events=payload.events,
        event_count=EVENTS,
        claimed=(prepare.effect_key,),
    )
