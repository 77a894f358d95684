"""What is left: receipts that wait for people have their item, settlements their continuation, and nothing else waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from intention_kernel.history.checks_of_effects import EffectKey
from intention_kernel.history.values import Allowed, Finding, History, Item, Receipt

_WAITS = frozenset({"unsettled receipts", "unfinished items", "blocked steps", "journal entries"})


def check_items(history: History, allowed: Allowed) -> Iterator[Finding]:
    """An uncertain or contradicted receipt has one open item, that of its next settlement; every settlement had its own.

    No other item is unfinished, but those of receipts that an open set-aside turn holds.
    """
    items: dict[EffectKey, list[Item]] = defaultdict(list)
    for item in history.items:
        items[item.thread_id, item.key].append(item)
    for receipt in history.receipts:
        own = items.pop((receipt.thread_id, receipt.key), [])
        for problem in _item_problems(receipt, own, allowed):
            yield Finding("open-item", f"{receipt.key} of {receipt.thread_id} {problem}")
    for thread_id, key in items:
        yield Finding("open-item", f"{key} of {thread_id} has an item and no receipt")


def _item_problems(receipt: Receipt, items: Sequence[Item], allowed: Allowed) -> Iterator[str]:
    of_effect = [item for item in items if item.kind == "effect"]
    numbers = sorted(item.settlement for item in of_effect)
    is_open = receipt.state == "uncertain" or receipt.contradicted
    wanted = list(range(1, receipt.settlements + 1 + is_open))
    if numbers != wanted:
        yield f"is {receipt.state} with {receipt.settlements} settlements, its items are {numbers}, not {wanted}"
    for item in of_effect:
        phase = "open" if item.settlement == receipt.settlements + 1 else "done"
        if item.phase != phase and not (item.phase == "failed" and allowed.open_items):
            yield f"has an item of settlement {item.settlement} that is {item.phase}, not {phase}"


def check_orphans(history: History) -> Iterator[Finding]:
    """A set-aside turn's receipts have an orphaned item as long as it is set aside, and no others have an open one."""
    given_up = {(aside.thread_id, aside.turn_id) for aside in history.set_aside if aside.state == "open"}
    orphans: set[EffectKey] = set()
    for item in history.items:
        if item.kind != "orphaned" or item.phase != "open":
            continue
        if (item.thread_id, item.key) in orphans:
            yield Finding("orphaned", f"{item.key} of {item.thread_id} is orphaned twice")
        orphans.add((item.thread_id, item.key))
        if (item.thread_id, item.turn_id or "") not in given_up:
            yield Finding("orphaned", f"{item.key} of {item.thread_id} is orphaned by a turn that is not set aside")
    for receipt in history.receipts:
        held = (receipt.thread_id, receipt.turn_id) in given_up
        if held and (receipt.thread_id, receipt.key) not in orphans:
            yield Finding(
                "orphaned", f"{receipt.key} of {receipt.thread_id} is held by a set-aside turn, and nobody is told"
            )


def check_continuations(history: History) -> Iterator[Finding]:
    """Every settlement whose item is done was told to its thread: a continuation of it is committed."""
    resumed = {(turn.thread_id, turn.turn_id.rpartition(":")[0]) for turn in history.turns}
    receipts = {(receipt.thread_id, receipt.key): receipt.receipt_id for receipt in history.receipts}
    for item in history.items:
        if item.kind != "effect" or item.phase != "done":
            continue
        name = f"reconciliation:{receipts.get((item.thread_id, item.key))}:{item.settlement}"
        if (item.thread_id, name) not in resumed:
            what = (
                f"settlement {item.settlement} of {item.key} of {item.thread_id} is done, and no continuation committed"
            )
            yield Finding("continued", what)


def check_nothing_in_flight(history: History, allowed: Allowed) -> Iterator[Finding]:
    """No head has a turn in progress, and no work is left but what waits for people where that is allowed."""
    excused = _excused(history, allowed)
    for work in history.left:
        if work.partition(":")[0] not in excused:
            yield Finding("nothing-in-flight", f"left: {work}")
    for head in history.heads:
        if head.turn_id is not None:
            yield Finding("nothing-in-flight", f"turn {head.turn_id} of {head.thread_id} is in progress")


def _excused(history: History, allowed: Allowed) -> frozenset[str]:
    waits = any(item.phase in ("open", "failed") for item in history.items)
    if waits and (allowed.open_items or allowed.contradicted or allowed.set_aside):
        return _WAITS
    # The journal of what is set aside stays for a redrive, and so does the mark of a recovery on what was refused.
    keeps = any(aside.state == "open" for aside in history.set_aside) or (history.recoveries > 0 and history.rejected)
    return frozenset({"journal entries"}) if keeps else frozenset()
