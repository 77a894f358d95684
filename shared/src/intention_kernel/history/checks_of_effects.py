"""Effects: the provider's ledger against the receipts, and the receipts against their own history."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from intention_kernel.history.values import Allowed, Applied, Finding, History, Move, Receipt

EffectKey = tuple[str, str]
"""Thread and effect key."""

_MOVES = frozenset(
    {
        ("prepared", "completed"),
        ("prepared", "failed"),
        ("prepared", "uncertain"),
        ("uncertain", "completed"),
        ("uncertain", "failed"),
        ("failed", "prepared"),
    }
)
_IN_PLACE = frozenset({"recover", "retry", "contradicted", "contested", "contest"})
_OPEN = frozenset({"prepared", "uncertain"})


def check_ledger(history: History) -> Iterator[Finding]:
    """The provider applied an effect of a thread at most once."""
    counted = Counter((entry.thread_id, entry.key) for entry in history.ledger)
    for (thread_id, key), count in counted.items():
        if count > 1:
            yield Finding("effect-once", f"{key} of {thread_id} was applied {count} times")


def check_records(history: History) -> Iterator[Finding]:
    """What was applied has a receipt; completed ones are in the ledger with their reference, failed ones are not.

    Receipts that are still open or contradicted say neither.
    """
    ledger = {(entry.thread_id, entry.key): entry for entry in history.ledger}
    seen = set()
    for receipt in history.receipts:
        id = receipt.thread_id, receipt.key
        if id in seen:
            yield Finding("effect-recorded", f"{receipt.key} of {receipt.thread_id} has two receipts")
        seen.add(id)
        problem = None if receipt.contradicted else _record_problem(receipt, ledger.get(id))
        if problem:
            yield Finding("effect-recorded", f"{receipt.key} of {receipt.thread_id} {problem}")
    for thread_id, key in ledger.keys() - seen:
        yield Finding("effect-recorded", f"{key} of {thread_id} was applied and has no receipt")


def _record_problem(receipt: Receipt, applied: Applied | None) -> str | None:
    if receipt.state == "completed" and applied is None:
        return "is completed, and was not applied"
    if receipt.state == "completed" and applied is not None and receipt.reference != applied.reference:
        return f"has the reference {receipt.reference}, the ledger says {applied.reference}"
    if receipt.state == "failed" and applied is not None:
        return f"is failed, and was applied as {applied.reference}"
    return None


def check_settled(history: History, allowed: Allowed) -> Iterator[Finding]:
    """Every receipt is completed or failed, and nothing disagrees with it, but where that is allowed."""
    for receipt in history.receipts:
        name = f"{receipt.key} of {receipt.thread_id}"
        if receipt.state == "prepared" or (
            receipt.state in _OPEN and not allowed.open_items and not receipt.contradicted
        ):
            yield Finding("settled", f"{name} is {receipt.state}")
        if receipt.contradicted and not allowed.contradicted:
            yield Finding("contradicted", f"an answer disagrees with {name}, which is {receipt.state}")


def check_moves(history: History) -> Iterator[Finding]:
    """A receipt is the fold of its moves: versions 1 … n, each from where the last one led, all of them legal."""
    moves: dict[EffectKey, list[Move]] = defaultdict(list)
    for move in history.moves:
        moves[move.thread_id, move.key].append(move)
    for receipt in history.receipts:
        made = sorted(moves.pop((receipt.thread_id, receipt.key), []), key=lambda move: move.version)
        problem = next(_move_problems(made), None) or _fold_problem(receipt, made)
        if problem:
            yield Finding("moves-legal", f"{receipt.key} of {receipt.thread_id}: {problem}")
    for thread_id, key in moves:
        yield Finding("moves-legal", f"{key} of {thread_id} has moves and no receipt")


def _move_problems(made: Sequence[Move]) -> Iterator[str]:
    before: Move | None = None
    for number, move in enumerate(made, 1):
        if move.version != number:
            yield f"version {move.version} comes in place of {number}"
        problem = _first_problem(move) if before is None else _next_problem(before, move)
        if problem:
            yield f"version {move.version} ({move.cause}) {problem}"
        before = move


def _first_problem(move: Move) -> str | None:
    fresh = (None, "prepared", 1, 0, False)
    found = (move.from_state, move.state, move.attempt, move.settlements, move.contradicted)
    return None if found == fresh else "is no first preparation"


def _next_problem(before: Move, move: Move) -> str | None:
    if move.from_state != before.state:
        return f"comes from {move.from_state}, it was {before.state}"
    if move.attempt != before.attempt + (before.state != "prepared" and move.state == "prepared"):
        return f"is of attempt {move.attempt}, before it was {before.attempt}"
    if move.settlements != before.settlements + _is_settlement(before, move):
        return f"has {move.settlements} settlements, before it were {before.settlements}"
    if before.contradicted != move.contradicted:
        return _contradiction_problem(before, move)
    if before.state == move.state:
        return None if move.cause in _IN_PLACE else "changes nothing"
    is_legal = (before.state, move.state) in _MOVES and not (before.state == "failed" and before.contradicted)
    return None if is_legal else f"goes from {before.state} to {move.state}"


def _is_settlement(before: Move, move: Move) -> bool:
    return move.cause == "contest" or (before.state == "uncertain" and move.state in ("completed", "failed"))


def _contradiction_problem(before: Move, move: Move) -> str | None:
    if move.contradicted:
        is_legal = move.cause in ("contradicted", "contested") and before.state == move.state
        return None if is_legal else "is contradicted by no answer and no person"
    is_legal = move.cause == "contest" and before.state != "prepared" and move.state in ("completed", "failed")
    return None if is_legal else "is no longer contradicted, and no contest was decided"


def _fold_problem(receipt: Receipt, made: Sequence[Move]) -> str | None:
    if not made:
        return "it has no moves"
    last = made[-1]
    found = (receipt.version, receipt.state, receipt.attempt, receipt.settlements, receipt.contradicted)
    led = (last.version, last.state, last.attempt, last.settlements, last.contradicted)
    return None if found == led else f"it is {found}, its moves led to {led}"
