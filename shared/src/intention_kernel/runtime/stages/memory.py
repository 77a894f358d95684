"""The next checkpoint as a pure function of the last one and what the turn brought (design 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from intention_kernel.contracts.checkpoint import MAX_FACTS, MAX_MESSAGES, MAX_RECENT_RECEIPTS, Checkpoint
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import TurnLimitError
from intention_kernel.ids import derived_id

Record = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class BlockedOn:
    """A step that waits for a receipt."""

    effect_key: str
    receipt_id: str
    title: str


@dataclass(frozen=True, slots=True)
class TurnMark:
    """Which turn writes into the memory, and when: the request's time in RFC 3339."""

    thread_id: str
    turn_id: str
    at: str


def with_message(
    checkpoint: Checkpoint, mark: TurnMark, role: str, text: str, *, model_text: str | None = None
) -> Checkpoint:
    """One message more; the oldest go beyond the window. `index` counts all messages that the thread ever had.

    `model_text` is what models read in its place, where the message holds a text that is for the user alone.
    """
    message: Record = {
        "role": role,
        "text": text,
        "turnId": mark.turn_id,
        "at": mark.at,
        "index": message_count(checkpoint.messages),
        **({"modelText": model_text} if model_text is not None else {}),
    }
    return replace(checkpoint, messages=(*checkpoint.messages, message)[-MAX_MESSAGES:])


def message_count(messages: Sequence[Record]) -> int:
    """How many messages the thread ever had; those that have left the window are counted."""
    last = messages[-1].get("index") if messages else None
    return last + 1 if isinstance(last, int) else len(messages)


def with_facts(
    checkpoint: Checkpoint, mark: TurnMark, facts: Mapping[str, JsonValue], evidence: Iterable[str]
) -> Checkpoint:
    """Facts by type: a new value is a new version, with the receipts of the turn as its evidence.

    Raises TurnLimitError beyond the bound; no fact is dropped.
    """
    if not facts:
        return checkpoint
    receipts: list[JsonValue] = list(evidence)
    known = dict(checkpoint.facts)
    for fact_type, value in facts.items():
        known[fact_type] = {
            "type": fact_type,
            "value": value,
            "version": _next_version(known.get(fact_type)),
            "turnId": mark.turn_id,
            "at": mark.at,
            "evidence": receipts,
        }
    if len(known) > MAX_FACTS:
        raise TurnLimitError(f"the thread would have {len(known)} facts, the most is {MAX_FACTS}")
    return replace(checkpoint, facts=known)


def with_blocked_steps(
    checkpoint: Checkpoint, mark: TurnMark, blocked_turn_id: str, blocked: Iterable[BlockedOn]
) -> Checkpoint:
    """The agenda with exactly these steps blocked for the turn; other items stay as they are."""
    others = tuple(item for item in checkpoint.agenda if not _is_blocked_step(item, blocked_turn_id))
    items: tuple[Record, ...] = tuple(
        {
            "id": derived_id("agenda", mark.thread_id, blocked_turn_id, step.effect_key),
            "kind": "effect",
            "status": "blocked",
            "turnId": blocked_turn_id,
            "effectKey": step.effect_key,
            "receiptId": step.receipt_id,
            "title": step.title,
        }
        for step in blocked
    )
    return replace(checkpoint, agenda=(*others, *items))


def with_receipts(checkpoint: Checkpoint, mark: TurnMark, receipts: Iterable[Record]) -> Checkpoint:
    """The receipts that an agenda item or a fact refers to, and the last ones; the newest state of each."""
    latest: dict[str, Record] = {str(record["receiptId"]): record for record in checkpoint.receipts}
    for record in receipts:
        receipt_id = str(record["receiptId"])
        latest.pop(receipt_id, None)
        latest[receipt_id] = {**record, "turnId": mark.turn_id}
    needed = _referenced(checkpoint)
    recent = set(list(latest)[-MAX_RECENT_RECEIPTS:])
    kept = tuple(record for receipt_id, record in latest.items() if receipt_id in needed or receipt_id in recent)
    return replace(checkpoint, receipts=kept)


def _next_version(record: Record | None) -> int:
    version = record["version"] if record is not None else 0
    return version + 1 if isinstance(version, int) else 1


def _is_blocked_step(item: Record, turn_id: str) -> bool:
    return item.get("kind") == "effect" and item.get("status") == "blocked" and item.get("turnId") == turn_id


def _referenced(checkpoint: Checkpoint) -> set[str]:
    """Receipts that an item waits for, and evidence of facts: a Program's is receipt ids, a compiled agent's has ids of
    its capabilities, which may be those of receipts."""
    references: set[str] = set()
    for item in checkpoint.agenda:
        references |= _ids((item,), "receiptId")
        blocked = item.get("blocked")
        if isinstance(blocked, dict):
            references |= _ids(blocked.get("receipts"), "receiptId")
    for record in checkpoint.facts.values():
        references |= _ids(record.get("evidence"), "id")
    return references


def _ids(values: object, member: str) -> set[str]:
    """Of a list of ids, or of records that have theirs as `member`."""
    if not isinstance(values, list | tuple):
        return set()
    found = (value.get(member) if isinstance(value, dict) else value for value in values)
    return {value for value in found if isinstance(value, str)}
