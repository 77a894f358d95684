"""Turns: committed at most once, in the order of the requests, without a gap in a thread's revisions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from intention_kernel.history.reading import CONTINUATION, Log, Place
from intention_kernel.history.values import Finding, History, Turn


def check_commits(history: History) -> Iterator[Finding]:
    """A turn id of a thread is committed at most once, and never beside a row that gives it up."""
    counted = Counter((turn.thread_id, turn.turn_id) for turn in history.turns)
    for (thread_id, turn_id), count in counted.items():
        if count > 1:
            yield Finding("committed-at-most-once", f"turn {turn_id} of {thread_id} is committed {count} times")
    given_up = Counter((aside.thread_id, aside.turn_id) for aside in history.set_aside if aside.state != "redriven")
    for (thread_id, turn_id), count in given_up.items():
        if counted[thread_id, turn_id]:
            yield Finding("committed-at-most-once", f"turn {turn_id} of {thread_id} is committed and given up")
        if count > 1:
            yield Finding("committed-at-most-once", f"turn {turn_id} of {thread_id} is given up {count} times at once")


def check_order(history: History, log: Log) -> Iterator[Finding]:
    """Users' turns of a thread are committed in the order of their first requests, but those once set aside."""
    given_up = {(aside.thread_id, aside.turn_id) for aside in history.set_aside}
    before: dict[str, tuple[Place, Turn]] = {}
    for turn in sorted(history.turns, key=lambda one: (one.thread_id, one.revision)):
        id = turn.thread_id, turn.turn_id
        if turn.turn_id.startswith(CONTINUATION) or id in given_up or id not in log.accepted:
            continue
        place = log.accepted[id][0].place
        earlier = before.get(turn.thread_id)
        if earlier is not None and place < earlier[0]:
            yield Finding(
                "order", f"{turn.thread_id}: {turn.turn_id} was asked before {earlier[1].turn_id} and came later"
            )
        before[turn.thread_id] = place, turn


def check_revisions(history: History) -> Iterator[Finding]:
    """What lets a thread go forward (turns, turns set aside, fenced rejections) is numbered 1 … n, and the head says n."""
    revisions: dict[str, list[int]] = defaultdict(list)
    for turn in history.turns:
        revisions[turn.thread_id].append(turn.revision)
    for aside in history.set_aside:
        revisions[aside.thread_id].append(aside.revision)
    for row in history.rejected:
        if row.revision is not None:
            revisions[row.thread_id or ""].append(row.revision)
    heads = {head.thread_id: head.revision for head in history.heads}
    for thread_id in sorted(revisions.keys() | heads.keys()):
        found, last = sorted(revisions[thread_id]), heads.get(thread_id, 0)
        if found != list(range(1, last + 1)):
            yield Finding("revisions", f"{thread_id} has revision {last}, and {_gaps(found, last)}")


def _gaps(found: list[int], last: int) -> str:
    counted = Counter(found)
    missing = [number for number in range(1, last + 1) if not counted[number]][:5]
    more = [number for number, count in counted.items() if count > 1 or number > last][:5]
    return f"{missing} are missing, {more} are too many"
