"""Turns against what was sent, the topic against the turns, and what is left to do. Each check yields what differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from intention_kernel.contracts.event import WireRecord

from examples.retail.campaign.evidence import Evidence, Turn

_CONTINUATION = "reconciliation:"


def check_turns(evidence: Evidence) -> Iterator[str]:
    """Every turn that was sent is committed once, in the order of sending, and none that nobody sent but continuations."""
    sent = {one.conversation["id"]: [request.turn_id for request in one.requests] for one in evidence.played}
    for thread_id in sorted({*sent, *evidence.turns}):
        turns = evidence.turns.get(thread_id, ())
        for wrong in _turns(sent.get(thread_id, []), turns):
            yield f"{thread_id}: {wrong}"
    yield from (f"given up: {turn}" for turn in evidence.given_up)


def _turns(sent: list[str], turns: Sequence[Turn]) -> Iterator[str]:
    committed = [turn.turn_id for turn in turns if not turn.turn_id.startswith(_CONTINUATION)]
    if committed != sent:
        lost = [turn_id for turn_id in sent if turn_id not in committed]
        yield f"turns {committed} are committed, sent were {sent}" + (f"; lost: {lost}" if lost else "")
    revisions = [turn.revision for turn in turns]
    if revisions != list(range(1, len(turns) + 1)):
        yield f"the turns have the revisions {revisions}"
    yield from (f"{turn.turn_id} is {turn.status}" for turn in turns if turn.status == "failed")


def check_events(evidence: Evidence) -> Iterator[str]:
    """The topic tells of every thread 1, 2, 3 … exactly what was committed, and each turn's `turn.completed` once."""
    yield from evidence.unread
    for thread_id in sorted({*evidence.published, *evidence.turns}):
        turns, found = evidence.turns.get(thread_id, ()), list(evidence.published.get(thread_id, ()))
        committed = [event for turn in turns for event in turn.events]
        if found != committed:
            yield f"{thread_id}: {len(committed)} events are committed, the topic tells {len(found)} or others"
        for turn in turns:
            completed = sum(_type(event) == "turn.completed" for event in turn.events)
            if completed != 1:
                yield f"{thread_id}: {turn.turn_id} has {completed} turn.completed events"


def _type(event: WireRecord) -> str:
    return dict(event.headers).get("ce_type", b"").decode()


def check_nothing_is_left(evidence: Evidence) -> Iterator[str]:
    """No lease, no outbox row, no journal; a step is blocked and a receipt open only where an operator is told."""
    yield from (f"left: {work}" for work in evidence.left)
