"""States and reasons in people's words, each with a sign, so that no colour is the only one that says it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from intention_kernel.contracts.receipt import ReceiptState, Summary
from intention_kernel.ports.operator_queue import ItemKind, Phase

Tone = Literal["wait", "alarm", "good", "bad", "quiet"]

_REASONS = {
    "uncertain": "nobody knows yet whether it went through",
    "contradicted": "an answer of the provider contradicts what is recorded",
    "contested": "a person contests what was settled; another decides",
    "set_aside": "its turn was set aside: the conversation does not know",
    "redriven": "its turn was redriven",
    "dropped": "its turn was dropped",
    "late_answer": "the provider's answer came late",
    "applied": "decided: applied",
    "not_applied": "decided: not applied",
}
_CAUSES = {
    "prepare": "the program is about to call the provider",
    "completed": "the provider answered: applied",
    "failed": "the operation proved that nothing was written",
    "uncertain": "the call ended without an answer",
    "scan": "the attempt was over and had said nothing",
    "commit": "the turn was committed without its answer",
    "retry": "the identical call was begun again",
    "restore": "a lost database may have had it",
    "recover": "a recovery marked it",
    "found_prepared": "another attempt had begun it",
    "settle": "settled on evidence",
    "late_answer": "the provider's answer came late",
    "contradicted": "an answer disagrees with what is recorded",
    "contested": "a person contests it",
    "contest": "a contest was decided",
}
_STATES: dict[ReceiptState, tuple[str, str, Tone]] = {
    "prepared": ("▷", "under way", "wait"),
    "uncertain": ("?", "uncertain", "wait"),
    "completed": ("✓", "applied", "good"),
    "failed": ("✗", "not applied", "quiet"),
}
_LINK = re.compile(r"https?://[^\s/]+(?:/\S*)?")

REASON_CODES = {
    "provider_confirms": "the provider's records show it",
    "provider_denies": "the provider's records do not have it",
    "customer_confirms": "the customer confirms it",
    "statement": "a statement or ledger shows it",
    "workers_stopped": "no process can send it any more",
    "correction": "what was recorded is wrong",
    "other": "another reason",
}
"""Why a decision was made, in a word that can be counted."""


@dataclass(frozen=True, slots=True)
class Badge:
    """A state: a sign and a word; `tone` only colours them."""

    sign: str
    word: str
    tone: Tone


def item_badge(phase: Phase, kind: ItemKind, state: ReceiptState, *, contradicted: bool) -> Badge:
    """Where an item of the queue stands."""
    if phase == "done":
        return Badge("✓", "done", "good")
    if phase == "decided":
        return Badge("…", "decided", "quiet")
    if phase == "failed":
        return Badge("✗", "continuation failed", "bad")
    if kind == "orphaned":
        return Badge("⚑", "orphaned", "alarm")
    return receipt_badge(state, contradicted=contradicted)


def receipt_badge(state: ReceiptState, *, contradicted: bool) -> Badge:
    """What is known of an effect."""
    return Badge("⚠", "contradicted", "alarm") if contradicted else Badge(*_STATES[state])


def reason_words(reason: str) -> str:
    """Why an item is in the queue."""
    return _REASONS.get(reason, reason)


def cause_words(cause: str) -> str:
    """What moved a receipt."""
    return _CAUSES.get(cause, cause)


def amount_words(summary: Summary) -> str:
    """The amount with its currency; empty where there is none."""
    return "" if summary.amount is None else f"{summary.amount:f} {summary.currency or ''}".strip()


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 turn`, `2 turns`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def link_of(text: str) -> str | None:
    """The text as an address that may be followed: http(s) and nothing else."""
    return text if _LINK.fullmatch(text) else None
