"""Healthy histories, built row by row: what an installation could have left, with a little of everything that is allowed."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

from intention_kernel.history.values import (
    Allowed,
    Applied,
    Head,
    History,
    Item,
    Move,
    Receipt,
    Record,
    Rejected,
    Sent,
    SetAside,
    Turn,
    WireEvent,
)

ALLOWED = Allowed(
    set_aside=frozenset({("given up", "g1"), ("given up", "g3")}),
    rejected=frozenset({"unknown_agent"}),
    open_items=True,
    contradicted=True,
)
NO_REQUEST = b"{no"
PARTITIONS = {"plain": 0, "bank": 0, "given up": 1, "refused": 1, "waits": 1, "restored": 0, "gone": 1}

Step = tuple[str, str]
"""The cause of a move, and the state that it leads to."""


def asked(thread_id: str, turn_id: str, text: str = "hello") -> bytes:
    """A user's request."""
    document = {
        "schemaVersion": 1,
        "threadId": thread_id,
        "turnId": turn_id,
        "agentId": "payer",
        "input": {"text": text},
    }
    return json.dumps(document).encode()


def resumed(thread_id: str, receipt_id: str, settlement: int, issue: int = 1) -> bytes:
    """A continuation."""
    turn_id = f"reconciliation:{receipt_id}:{settlement}:{issue}"
    trigger = {"kind": "reconciliation", "receiptId": receipt_id, "settlement": settlement}
    document = {"schemaVersion": 1, "threadId": thread_id, "turnId": turn_id, "agentId": "payer", "trigger": trigger}
    return json.dumps(document).encode()


def event(thread_id: str, turn_id: str, sequence: int, type: str, incarnation: str = "i1") -> WireEvent:
    """An event as it is committed."""
    names = {"ce_subject": thread_id, "ce_sequence": str(sequence), "ce_type": type, "ce_incarnation": incarnation}
    value = {"threadId": thread_id, "turnId": turn_id, "sequence": sequence, "type": type}
    return WireEvent(tuple((name, text.encode()) for name, text in names.items()), json.dumps(value).encode())


@dataclass(slots=True)
class Effect:
    """A receipt and all that belongs to it."""

    receipt: Receipt
    moves: tuple[Move, ...]
    items: tuple[Item, ...]
    ledger: tuple[Applied, ...]


def effect(thread_id: str, key: str, turn_id: str, *steps: Step, contradicted: bool = False) -> Effect:
    """An effect that went these steps; what is completed was applied, what waits has its item."""
    moves = [Move(thread_id, key, 1, None, "prepared", 1, 0, False, "prepare")]
    for cause, state in steps:
        last = moves[-1]
        move = replace(
            last,
            version=last.version + 1,
            from_state=last.state,
            state=state,
            attempt=last.attempt + (cause == "prepare"),
            settlements=last.settlements + (cause in ("settle", "late_answer", "contest")),
            contradicted=(last.contradicted or cause in ("contradicted", "contested")) and cause != "contest",
            cause=cause,
        )
        moves.append(move)
    end, reference, receipt_id = moves[-1], f"ref-{key}", f"id-{key}"
    known = end.state == "completed" and not end.contradicted
    receipt = Receipt(
        receipt_id, thread_id, key, turn_id, end.state, end.attempt, end.version, end.settlements, end.contradicted,
        reference if known else None,
    )  # fmt: skip
    numbers = range(1, end.settlements + 1)
    items = [Item(thread_id, key, n, "effect", "done", f"reconciliation:{receipt_id}:{n}:1") for n in numbers]
    if end.state == "uncertain" or end.contradicted:
        items.append(Item(thread_id, key, end.settlements + 1, "effect", "open", None))
    return Effect(receipt, tuple(moves), tuple(items), (Applied(thread_id, key, reference),) if known else ())


@dataclass(slots=True)
class Builder:
    """Plays an installation: what is asked, what becomes of it, what is told."""

    incarnation: str = "i1"
    sent: list[Sent] = field(default_factory=list)
    requests: list[Record] = field(default_factory=list)
    events: list[Record] = field(default_factory=list)
    rejections: list[Record] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    orphans: list[Item] = field(default_factory=list)
    revisions: Counter[str] = field(default_factory=Counter)
    sequences: Counter[str] = field(default_factory=Counter)
    offsets: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))

    def ask(self, thread_id: str, value: bytes, *, sent: bool = True, good: bool = True) -> tuple[int, int]:
        """Put a record on the request topic; `sent`: by a client."""
        record = self._record("requests", thread_id, value)
        self.requests.append(record)
        place = record.partition, record.offset
        if sent:
            self.sent.append(Sent(record.key, value, place, good))
        return place

    def commit(self, thread_id: str, turn_id: str, count: int = 2) -> None:
        """A turn with so many events, told at once."""
        first = self.sequences[thread_id] + 1
        types = ["turn.started"] * (count - 1) + ["turn.completed"]
        events = tuple(event(thread_id, turn_id, first + i, types[i], self.incarnation) for i in range(count))
        self.revisions[thread_id] += 1
        self.turns.append(Turn(thread_id, turn_id, self.revisions[thread_id], "completed", first, events))
        self.tell(thread_id, *events)

    def give_up(self, thread_id: str, turn_id: str, place: tuple[int, int], state: str) -> None:
        """A turn that is set aside, and what it tells."""
        self.revisions[thread_id] += 1
        row = SetAside(thread_id, turn_id, self.revisions[thread_id], state, "attempts_used_up", place)
        self.set_aside.append(row)
        self.tell(thread_id, event(thread_id, turn_id, self.sequences[thread_id] + 1, "turn.failed", self.incarnation))

    def reject(self, place: tuple[int, int], reason: str, id: tuple[str, str] | None, *, fenced: bool = False) -> None:
        """A record that is refused, told at once."""
        (record,) = [one for one in self.requests if (one.partition, one.offset) == place]
        thread_id, turn_id = id or (None, None)
        if fenced:
            self.revisions[thread_id or ""] += 1
        revision = self.revisions[thread_id or ""] if fenced else None
        self.rejected.append(Rejected(place, thread_id, turn_id, revision, "open", reason, record.key, record.value))
        origin = {"reason": reason, "origin_partition": str(place[0]), "origin_offset": str(place[1])}
        headers = tuple((name, text.encode()) for name, text in origin.items())
        self.rejections.append(replace(record, offset=len(self.rejections), headers=headers))

    def tell(self, thread_id: str, *events: WireEvent) -> None:
        """Put events on their topic."""
        for one in events:
            self.events.append(replace(self._record("events", thread_id, one.value), headers=one.headers))
            self.sequences[thread_id] += 1

    def history(self, *, recoveries: int = 0) -> History:
        """What is there at the end."""
        return History(
            sent=tuple(self.sent),
            requests=tuple(self.requests),
            events=tuple(self.events),
            rejections=tuple(self.rejections),
            turns=tuple(self.turns),
            set_aside=tuple(self.set_aside),
            rejected=tuple(self.rejected),
            heads=tuple(Head(one, self.revisions[one], last + 1, None) for one, last in self.sequences.items()),
            receipts=tuple(one.receipt for one in self.effects),
            moves=tuple(move for one in self.effects for move in one.moves),
            items=(*(item for one in self.effects for item in one.items), *self.orphans),
            ledger=tuple(entry for one in self.effects for entry in one.ledger),
            offsets={partition: (end, end) for partition, end in self.offsets["requests"].items()},
            incarnation=self.incarnation,
            recoveries=recoveries,
        )

    def _record(self, topic: str, thread_id: str, value: bytes | None) -> Record:
        partition = PARTITIONS[thread_id]
        offset = self.offsets[topic][partition]
        self.offsets[topic][partition] += 1
        return Record(partition, offset, thread_id.encode(), value)


def healthy() -> History:
    """Repeats, a conflict, bytes that are no request, effects, continuations, redrives, what waits for people."""
    made = Builder()
    for turn_id in ("t1", "t2", "t3"):
        made.ask("plain", asked("plain", turn_id))
        made.commit("plain", turn_id)
    made.ask("plain", asked("plain", "t1"))
    made.reject(made.ask("plain", asked("plain", "t1", "other")), "conflict", ("plain", "t1"))
    made.reject(made.ask("plain", NO_REQUEST, good=False), "not_json", None)
    _bank(made)
    _given_up(made)
    made.reject(made.ask("refused", asked("refused", "r1")), "unknown_agent", ("refused", "r1"), fenced=True)
    made.ask("refused", asked("refused", "r2"))
    made.commit("refused", "r2")
    made.ask("waits", asked("waits", "w1"))
    made.commit("waits", "w1")
    made.effects.append(effect("waits", "open", "w1", ("scan", "uncertain"), ("retry", "uncertain")))
    made.effects.append(effect("waits", "disputed", "w1", ("failed", "failed"), ("contradicted", "failed")))
    history = made.history()
    lost = Sent(b"plain", asked("plain", "t9"), None)
    return replace(
        history, sent=(*history.sent, lost), left=("unfinished items: 3, open: uncertain", "blocked steps: 1, open")
    )


def _bank(made: Builder) -> None:
    made.ask("bank", asked("bank", "b1"))
    made.commit("bank", "b1")
    made.effects.append(effect("bank", "paid", "b1", ("completed", "completed")))
    made.effects.append(
        effect("bank", "again", "b1", ("failed", "failed"), ("prepare", "prepared"), ("completed", "completed"))
    )
    made.effects.append(effect("bank", "found", "b1", ("uncertain", "uncertain"), ("settle", "completed")))
    made.effects.append(effect("bank", "refused", "b1", ("commit", "uncertain"), ("late_answer", "failed")))
    made.effects.append(
        effect("bank", "contest", "b1", ("scan", "uncertain"), ("settle", "failed"), ("contested", "failed"),
               ("contest", "completed"))
    )  # fmt: skip
    for key, settlement in (("found", 1), ("refused", 1), ("contest", 1), ("contest", 2)):
        made.ask("bank", resumed("bank", f"id-{key}", settlement), sent=False)
        made.commit("bank", f"reconciliation:id-{key}:{settlement}:1")


def _given_up(made: Builder) -> None:
    made.give_up("given up", "g1", made.ask("given up", asked("given up", "g1")), "redriven")
    made.ask("given up", asked("given up", "g2"))
    made.commit("given up", "g2")
    made.ask("given up", asked("given up", "g1"), sent=False)
    made.commit("given up", "g1")
    made.give_up("given up", "g3", made.ask("given up", asked("given up", "g3")), "open")
    made.effects.append(effect("given up", "held", "g3", ("completed", "completed")))
    made.orphans.append(Item("given up", "held", 1, "orphaned", "open", "g3"))


def restored() -> History:
    """An older database took over: two threads ran again, and the topic still tells what the lost one committed."""
    made = Builder()
    made.ask("plain", asked("plain", "t1"))
    made.commit("plain", "t1")
    made.ask("restored", asked("restored", "x1"))
    made.commit("restored", "x1")
    made.ask("restored", asked("restored", "x2"))
    gone = made.ask("restored", asked("restored", "x3"))
    made.ask("gone", asked("gone", "y1"))
    made.tell("restored", event("restored", "x2", 3, "turn.started"), event("restored", "x2", 4, "turn.completed"))
    made.tell("restored", event("restored", "x3", 5, "turn.failed"))
    made.tell("gone", event("gone", "y1", 1, "turn.completed"))
    made.incarnation = "i2"
    made.commit("restored", "x2")
    made.give_up("restored", "x3", gone, "open")
    made.commit("gone", "y1")
    made.ask("gone", resumed("gone", "id-lost", 1), sent=False)
    made.reject((1, 1), "forged_continuation", ("gone", "reconciliation:id-lost:1:1"), fenced=True)
    made.ask("plain", asked("plain", "t2"))
    made.commit("plain", "t2")
    return made.history(recoveries=1)


RESTORED_ALLOWED = Allowed(set_aside=frozenset({("restored", "x3")}))
