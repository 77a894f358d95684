"""The three ports of the boundary, each call at a gate (see gates.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from intention_kernel.durability.process import DurableStore
from intention_kernel.ports.effect_store import EndAnswer, EndAttempt, Prepare, PrepareAnswer
from intention_kernel.ports.rejections import Rejection
from intention_kernel.ports.turn_store import (
    Begin,
    BeginAnswer,
    Commit,
    CommitAnswer,
    Contended,
    Continuation,
    HeldReceipt,
    SetAside,
)

from tests.stress.gates import Gates


class FaultyStore:
    """A DurableStore whose statements reach the store under it when the schedule says so, perhaps twice, perhaps never."""

    def __init__(self, store: DurableStore, gates: Gates) -> None:
        self._store = store
        self._gates = gates

    async def begin(self, begin: Begin) -> BeginAnswer:
        answer: BeginAnswer = await self._statement("begin", begin.turn_id, begin, self._store.begin)
        return answer

    async def renew(self, thread_id: str, fence: int, lease_seconds: float) -> bool:
        alive: bool = await self._gates.wait(
            "statement", "renew", str(fence), lambda: self._store.renew(thread_id, fence, lease_seconds)
        )
        return alive

    async def commit(self, commit: Commit) -> CommitAnswer:
        answer: CommitAnswer = await self._statement("commit", commit.turn_id, commit, self._store.commit)
        return answer

    async def set_aside(self, aside: SetAside) -> CommitAnswer:
        answer: CommitAnswer = await self._statement("set_aside", aside.turn_id, aside, self._store.set_aside)
        return answer

    async def release(self, thread_id: str, fence: int, *, count_attempt: bool) -> None:
        await self._gates.wait(
            "statement",
            "release",
            str(fence),
            lambda: self._store.release(thread_id, fence, count_attempt=count_attempt),
        )

    async def continuation(self, thread_id: str, receipt_id: str, settlement: int) -> Continuation | None:
        found: Continuation | None = await self._gates.wait(
            "read", "continuation", receipt_id, lambda: self._store.continuation(thread_id, receipt_id, settlement)
        )
        return found

    async def held_receipts(self, thread_id: str, turn_id: str) -> tuple[HeldReceipt, ...]:
        held: tuple[HeldReceipt, ...] = await self._gates.wait(
            "read", "held_receipts", turn_id, lambda: self._store.held_receipts(thread_id, turn_id)
        )
        return held

    async def prepare(self, prepare: Prepare) -> PrepareAnswer:
        answer: PrepareAnswer = await self._statement("prepare", prepare.effect_key, prepare, self._store.prepare)
        return answer

    async def end(self, end: EndAttempt) -> EndAnswer | Contended:
        answer: EndAnswer | Contended = await self._statement("end", end.effect_key, end, self._store.end)
        return answer

    async def reject(self, rejection: Rejection) -> None:
        await self._statement("reject", str(rejection.turn_id), rejection, self._store.reject)

    async def reject_begun(self, rejection: Rejection, *, fence: int, revision: int) -> CommitAnswer:
        answer: CommitAnswer = await self._gates.wait(
            "statement",
            "reject_begun",
            str(rejection.turn_id),
            lambda: self._store.reject_begun(rejection, fence=fence, revision=revision),
        )
        return answer

    async def _statement(self, name: str, subject: str, request: Any, call: Callable[[Any], Any]) -> Any:
        return await self._gates.wait("statement", name, subject, lambda: call(request), request)
