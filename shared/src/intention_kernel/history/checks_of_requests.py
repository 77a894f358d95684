"""The request topic against what clients sent and against the rows: every record has one outcome, and none is made up."""

from __future__ import annotations

from collections.abc import Iterator

from intention_kernel.history.reading import Entry, Log
from intention_kernel.history.values import Allowed, Finding, History, Receipt, SetAside

_FORGED = "forged_continuation"
_CONFLICT = "conflict"
_MAX_PUBLISHED_BYTES = 900_000


def check_acknowledged(history: History, log: Log) -> Iterator[Finding]:
    """Every record that the broker acknowledged is on the topic, at its place and with its bytes."""
    for sent in history.sent:
        if sent.place is None:
            continue
        entry = log.places.get(sent.place)
        place = f"{sent.place[0]}/{sent.place[1]}"
        if entry is None:
            yield Finding("acknowledged-in-log", f"nothing is at {place}, where a record was acknowledged")
        elif (entry.record.key, entry.record.value) != (sent.key, sent.value):
            yield Finding("acknowledged-in-log", f"{entry} has other bytes than what was acknowledged there")


def check_outcomes(history: History, log: Log) -> Iterator[Finding]:
    """Every record has one outcome: its turn is committed or set aside, or the record itself is rejected as it came."""
    ended = {(turn.thread_id, turn.turn_id) for turn in history.turns}
    ended |= {(aside.thread_id, aside.turn_id) for aside in history.set_aside}
    for entry in log.entries:
        done, _ = history.offsets.get(entry.record.partition, (0, 0))
        problem = _outcome_problem(entry, log, is_ended=entry.asked is not None and entry.asked.id in ended)
        if problem:
            passed = "; the group has passed it" if entry.record.offset < done else ""
            yield Finding("one-outcome", f"{entry} {problem}{passed}")
    yield from _rejected_twice(history)
    yield from _redriven_into_nothing(history)


def _outcome_problem(entry: Entry, log: Log, *, is_ended: bool) -> str | None:
    refused = entry.refused
    if refused is not None:
        same = (refused.key, refused.value) == (entry.record.key, entry.record.value)
        return None if same else "is rejected with other bytes than it has"
    if entry.asked is None:
        return "is no request and not rejected"
    if not is_ended:
        return "has no outcome"
    first = log.accepted[entry.asked.id][0].asked
    same_content = first is not None and first.content == entry.asked.content
    return None if same_content else "has other content than the turn of its id, and is not rejected"


def _rejected_twice(history: History) -> Iterator[Finding]:
    seen = set()
    for row in history.rejected:
        if row.place in seen:
            yield Finding("one-outcome", f"record {row.place[0]}/{row.place[1]} is rejected twice")
        seen.add(row.place)


def _redriven_into_nothing(history: History) -> Iterator[Finding]:
    ended = {(turn.thread_id, turn.turn_id) for turn in history.turns}
    ended |= {(row.thread_id or "", row.turn_id or "") for row in history.rejected}
    latest: dict[tuple[str, str], SetAside] = {}
    for aside in sorted(history.set_aside, key=lambda one: one.revision):
        latest[aside.thread_id, aside.turn_id] = aside
    for id, aside in latest.items():
        if aside.state == "redriven" and id not in ended:
            yield Finding("one-outcome", f"turn {id[1]} of {id[0]} was redriven, and nothing came of it")


def check_nothing_is_made_up(history: History, log: Log) -> Iterator[Finding]:
    """Nothing is on the topic, committed, set aside or rejected that nobody sent, but continuations of settlements."""
    receipts = {receipt.receipt_id: receipt for receipt in history.receipts}
    for entry in log.entries:
        if not entry.is_sent and not _is_continuation(entry, receipts, history.recoveries):
            yield Finding("asked-for", f"{entry} was sent by nobody")
    for turn in history.turns:
        if (turn.thread_id, turn.turn_id) not in log.accepted:
            yield Finding(
                "asked-for", f"turn {turn.turn_id} of {turn.thread_id} is committed, and no request asks for it"
            )
    yield from _unasked_set_asides(history, log)
    for row in history.rejected:
        if row.place not in log.places:
            yield Finding("asked-for", f"record {row.place[0]}/{row.place[1]} is rejected, and is not there")


def _unasked_set_asides(history: History, log: Log) -> Iterator[Finding]:
    committed = {(turn.thread_id, turn.turn_id) for turn in history.turns}
    for aside in history.set_aside:
        id = aside.thread_id, aside.turn_id
        name = f"turn {aside.turn_id} of {aside.thread_id}"
        origin = log.places.get(aside.place)
        if origin is None or origin.asked is None or origin.asked.id != id:
            yield Finding("asked-for", f"{name} is set aside for a record that is not its own")
        elif id in committed and all(entry.place <= aside.place for entry in log.accepted.get(id, ())):
            yield Finding("asked-for", f"{name} is committed after it was set aside, and nothing asked for it again")


def _is_continuation(entry: Entry, receipts: dict[str, Receipt], recoveries: int) -> bool:
    if entry.asked is None or entry.asked.settles is None:
        return False
    receipt_id, settlement = entry.asked.settles
    start, _, issue = entry.asked.turn_id.rpartition(":")
    if start != f"reconciliation:{receipt_id}:{settlement}" or not issue.isdecimal() or int(issue) < 1:
        return False
    if recoveries and entry.refused is not None and entry.refused.reason == _FORGED:
        return True  # of a settlement that is lost
    receipt = receipts.get(receipt_id)
    return receipt is not None and receipt.thread_id == entry.asked.thread_id and 1 <= settlement <= receipt.settlements


def check_refusals(history: History, log: Log, allowed: Allowed) -> Iterator[Finding]:
    """No good request is rejected but for a reason that is allowed, or because its turn id had other content before."""
    for entry in log.entries:
        if entry.refused is None or entry.asked is None or entry.refused.reason in allowed.rejected:
            continue
        if not _is_conflict(entry, log) and not _is_of_a_lost_settlement(entry, history.recoveries):
            yield Finding("rejected-wrongly", f"{entry} is rejected: {entry.refused.reason}")


def _is_conflict(entry: Entry, log: Log) -> bool:
    if entry.refused is None or entry.asked is None or entry.refused.reason != _CONFLICT:
        return False
    winner = next(iter(log.accepted.get(entry.asked.id, ())), None)
    return (
        winner is not None
        and winner.asked is not None
        and winner.asked.content != entry.asked.content
        and (winner.place < entry.place or winner.record.partition != entry.record.partition)
    )


def _is_of_a_lost_settlement(entry: Entry, recoveries: int) -> bool:
    is_forged = entry.refused is not None and entry.refused.reason == _FORGED
    return recoveries > 0 and not entry.is_sent and is_forged


def check_given_up(history: History, allowed: Allowed) -> Iterator[Finding]:
    """No turn is set aside, also if it was redriven later, but those that are allowed."""
    for aside in history.set_aside:
        if (aside.thread_id, aside.turn_id) not in allowed.set_aside:
            yield Finding(
                "set-aside-wrongly", f"turn {aside.turn_id} of {aside.thread_id} was set aside: {aside.reason}"
            )


def check_rejections_are_told(history: History) -> Iterator[Finding]:
    """Every rejected record is on the rejected topic at least once, byte for byte and with its origin, and no other is."""
    rows = {row.place: row for row in history.rejected}
    told = set()
    for record in history.rejections:
        named = dict(record.headers)
        place = _number(named.get("origin_partition")), _number(named.get("origin_offset"))
        row = rows.get(place)
        if row is None:
            if not history.recoveries:
                yield Finding("rejected-published", f"{place[0]}/{place[1]} is told as rejected, and is not")
            continue
        fits = row.value is not None and len(row.value) <= _MAX_PUBLISHED_BYTES
        if record.value != (row.value if fits else None) or named.get("reason") != row.reason.encode():
            yield Finding("rejected-published", f"{place[0]}/{place[1]} is told as rejected with other bytes or reason")
        told.add(place)
    for place in rows.keys() - told:
        yield Finding("rejected-published", f"{place[0]}/{place[1]} is rejected, and that is told nowhere")


def _number(text: bytes | None) -> int:
    return int(text) if text is not None and text.isdigit() else -1


def check_offsets(history: History) -> Iterator[Finding]:
    """At rest the group has committed the end of every partition, and the end is where the records end."""
    ends: dict[int, int] = {}
    for record in history.requests:
        ends[record.partition] = max(ends.get(record.partition, 0), record.offset + 1)
    for partition in sorted(ends.keys() | history.offsets.keys()):
        done, end = history.offsets.get(partition, (0, 0))
        last = ends.get(partition, 0)
        if done != end or end < last:
            yield Finding(
                "offsets", f"partition {partition}: {done} is committed, its end {end}, the records end at {last}"
            )
