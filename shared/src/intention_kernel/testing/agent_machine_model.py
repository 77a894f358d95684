"""What must be, in plain Python: the unfinished work of one thread, told by what the user said and what happened outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from intention_kernel.testing.agent_machine_world import BUY_SECONDS, Call

Answer = Literal["yes", "no"]
Ended = tuple[str, str, str]
"""Capability, name, and why the item is gone."""


@dataclass(frozen=True, slots=True)
class Message:
    """What the user means. `asks` are capability and name; `cancels` is a capability."""

    answer: Answer | None = None
    asks: tuple[tuple[str, str], ...] = ()
    cancels: str | None = None

    @property
    def text(self) -> str:
        """As it is written."""
        parts = [self.answer or "", *(f"{capability_id} {name}" for capability_id, name in self.asks)]
        parts.append(f"forget {self.cancels}" if self.cancels else "")
        return " and ".join(part for part in parts if part) or "hello"


@dataclass(slots=True, eq=False)
class Work:
    """One agenda item. `waits_for` is the key of the receipt that it is blocked on, since the turn of that number."""

    capability_id: str
    name: str
    version: int
    status: Literal["waiting", "failed", "blocked"] = "waiting"
    expires_at_ms: int | None = None
    waits_for: str | None = None
    key: str | None = None
    blocked_since: int = 0

    @property
    def what(self) -> tuple[str, str]:
        return self.capability_id, self.name

    @property
    def kernel_asked(self) -> bool:
        """Whether the question is the kernel's, which resumes exactly what was planned."""
        return self.capability_id != "shop.send"


@dataclass(slots=True)
class Model:
    """The thread. `open_keys` are receipts that nobody can vouch for; `settled` those
    of which it is known whether they were applied, until the continuations have run; `consents` what the user said yes to, ever."""

    version: int = 1
    works: list[Work] = field(default_factory=list)
    active: Work | None = None
    open_keys: dict[str, tuple[str, str]] = field(default_factory=dict)
    settled: dict[str, bool] = field(default_factory=dict)
    consents: list[tuple[str, str]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    turns: int = 0

    def hear(self, message: Message, at_ms: int, calls: Sequence[Call], *, unanswered: bool) -> list[Ended]:
        """One user's turn; `calls` reached the provider in it, `unanswered` says that their answers were lost with a process."""
        self.turns += 1
        before, active, over = list(self.works), self.active, self._over(message, at_ms)
        consent = active if message.answer == "yes" and active is not None and active not in over else None
        answered = active if message.answer is not None and active is not None and active not in over else None
        if answered is not None and message.answer == "no":
            over[answered] = "declined"
        asks = self._new(message.asks, answered, over)
        over |= self._replaced(asks, answered, over)
        if consent is not None:
            self.consents.append(consent.what)
            self._run(consent, iter(calls), unanswered=unanswered)
            if consent not in self.works:
                over[consent] = "completed"
        assert self.calls[len(self.calls) - len(calls) :] == list(calls), "a write without its consent"
        self.works = [work for work in self.works if work not in over]
        fresh = [Work(*what, self._version(what[0])) for what in asks if what[0] != "shop.find"]
        self.works += fresh
        self._show(fresh, at_ms)
        return [(*work.what, over[work]) for work in before if work in over]

    def go_on(self, key: str, calls: Iterator[Call]) -> list[Ended]:
        """The continuations of a settled receipt, one blocked turn after the other; stops at one that this build holds."""
        ended: list[Ended] = []
        waiting = sorted((work for work in self.works if work.waits_for == key), key=lambda work: work.blocked_since)
        for work in waiting:
            if work.version != self._version(work.capability_id):
                return ended
            if work.key == key and self.settled[key]:
                self.works.remove(work)
            else:
                self._run(work, calls, unanswered=False)
            if work not in self.works:
                ended.append((*work.what, "completed"))
        del self.settled[key]
        return ended

    def _over(self, message: Message, at_ms: int) -> dict[Work, str]:
        found: dict[Work, str] = {}
        target = next((work for work in self.works if work.capability_id == message.cancels), None)
        if target is not None and target.status != "blocked":
            found[target] = "cancelled"
        declined = self.active if message.answer == "no" else None
        for work in self.works:
            if work.status != "waiting" or work in found or work is declined:
                continue
            if work.expires_at_ms is not None and work.expires_at_ms <= at_ms:
                found[work] = "expired"
            elif work.kernel_asked and work.version != self._version(work.capability_id):
                found[work] = "outdated"
        return found

    def _new(
        self, asks: Sequence[tuple[str, str]], answered: Work | None, over: dict[Work, str]
    ) -> list[tuple[str, str]]:
        """Without what only says again what is in hand."""
        left = list(asks)
        if answered is not None and answered.what in left:
            left.remove(answered.what)
        pending = [w.what for w in self.works if w.kernel_asked and w.status == "waiting" and w not in over]
        return [what for what in left if what not in pending or (answered is not None and what == answered.what)]

    def _replaced(
        self, asks: Sequence[tuple[str, str]], answered: Work | None, over: dict[Work, str]
    ) -> dict[Work, str]:
        found: dict[Work, str] = {}
        for capability_id, _ in asks:
            same = [w for w in self.works if w.capability_id == capability_id and w not in over and w not in found]
            same = [work for work in same if work is not answered]
            found |= {work: "replaced" for work in same if work.status == "failed"}
            if answered is not None and answered.capability_id == capability_id:
                continue
            waiting = [work for work in same if work.status == "waiting"]
            if waiting:
                found[next((work for work in waiting if work is self.active), waiting[0])] = "replaced"
        return found

    def _run(self, work: Work, calls: Iterator[Call], *, unanswered: bool) -> None:
        """A write that the user has consented to: one call, unless an equal one is in doubt."""
        twin = next((key for key, what in self.open_keys.items() if what == work.what), None)
        work.blocked_since = work.blocked_since or self.turns
        if twin is not None:
            work.status, work.waits_for = "blocked", twin
            return
        call = next(calls)
        assert call.what == work.what, "another write than the one that was confirmed"
        assert work.key in (None, call.key), "another effect than the one that was attempted before"
        self.calls.append(call)
        work.key, work.waits_for = call.key, None
        if unanswered or call.fate in ("lost", "never"):
            work.status, work.waits_for = "blocked", call.key
            self.open_keys[call.key] = work.what
        elif call.fate == "refused":
            work.status = "failed"
        else:
            self.works.remove(work)

    def _show(self, fresh: Sequence[Work], at_ms: int) -> None:
        """An open confirmation stays; then what was asked now, a capability's own question first; then the oldest."""
        if self.active not in self.works or (self.active is not None and self.active.status != "waiting"):
            asked = sorted(fresh, key=lambda work: work.kernel_asked)
            waiting = [work for work in self.works if work.status == "waiting"]
            self.active = next((work for work in [*asked, *waiting] if not _expired(work, at_ms)), None)
        if self.active is not None and self.active.capability_id == "shop.buy" and self.active.expires_at_ms is None:
            self.active.expires_at_ms = at_ms + BUY_SECONDS * 1000

    def _version(self, capability_id: str) -> int:
        return self.version if capability_id == "shop.buy" else 1


def _expired(work: Work, at_ms: int) -> bool:
    return work.expires_at_ms is not None and work.expires_at_ms <= at_ms
