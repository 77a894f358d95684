"""Receipts: the durable record of one external effect, and the moves its state may make (protocol 3 and 4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from intention_kernel.contracts.json_codec import JsonValue

ReceiptState = Literal["prepared", "completed", "failed", "uncertain"]

LEGAL_TRANSITIONS: frozenset[tuple[ReceiptState | None, ReceiptState]] = frozenset(
    {
        (None, "prepared"),
        ("prepared", "completed"),
        ("prepared", "failed"),
        ("prepared", "uncertain"),
        ("uncertain", "completed"),
        ("uncertain", "failed"),
        ("failed", "prepared"),
    }
)
"""Every other move is refused by the database too; failed -> prepared only while not contradicted (R25)."""


@dataclass(frozen=True, slots=True)
class Summary:
    """An effect in people's words: what the queue, filters and policies show. `amount` is in units of `currency`."""

    title: str
    provider: str | None = None
    amount: Decimal | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class ReceiptTransition:
    """One line of a receipt's history; never updated. `cause` says which rule or call made the move."""

    version: int
    state: ReceiptState
    attempt: int
    cause: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt as a reader sees it. It is a fold of its transitions; `version` counts them.

    `settlements` counts the times it was moved on evidence; `contradicted` says that an answer disagrees with that.
    """

    receipt_id: str
    thread_id: str
    effect_key: str
    effect_id: str
    turn_id: str
    agent_id: str
    tenant_id: str | None
    state: ReceiptState
    attempt: int
    version: int
    settlements: int
    contradicted: bool
    summary: Summary
    payload: JsonValue
    value: JsonValue
    reference: str | None
    prepared_at: datetime
    call_deadline: datetime
