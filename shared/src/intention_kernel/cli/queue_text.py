"""The operator queue in people's words, on a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from rich.console import Console
from rich.table import Table
from rich.text import Text

from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.contracts.receipt import Summary
from intention_kernel.ports.approvals import Proposal
from intention_kernel.ports.operator_queue import Phase, QueueItem
from intention_kernel.ports.queue_work import AuditLine, Held, Work
from intention_kernel.reconciliation.admissible import Admitted, Verdict
from intention_kernel.reconciliation.consequences import Consequences
from intention_kernel.reconciliation.key_window import KeyWindow
from intention_kernel.reconciliation.showing import Shown

_WORDS = {
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

_OVER = {
    "expired": "expired: nobody approved it in time",
    "overtaken": "overtaken: the receipt has changed since, so that it cannot be approved",
}


def plain(text: str) -> str:
    """Text from outside, without what would drive a terminal."""
    return "".join(
        "\ufffd" if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character for character in text
    )


def age(span: timedelta) -> str:
    """A span in its largest unit, such as `3 min`."""
    seconds = int(span.total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"


def why(reason: str, phase: Phase) -> str:
    """The reason of an item, in words."""
    words = _WORDS.get(reason, reason)
    return f"{words}; its conversation goes on next" if phase == "decided" else words


def amount(summary: Summary) -> str:
    """The amount with its currency, where there is one."""
    return "" if summary.amount is None else f"{summary.amount} {summary.currency or ''}".strip()


def owner(item: QueueItem) -> str:
    """Who has claimed it, and for how long still."""
    if item.claimed_by is None or item.claimed_until is None or item.claimed_until <= item.now:
        return "-"
    return f"{item.claimed_by} {age(item.claimed_until - item.now)}"


def held_line(held: Held) -> str:
    """Who works on it."""
    return f"{plain(held.owner)} works on it until {moment(held.until)}"


def moment(at: datetime) -> str:
    """A time to the second, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def print_items(items: Sequence[QueueItem]) -> None:
    """A table; as wide as the terminal, and never cut where there is none."""
    console = Console(width=None if Console().is_terminal else 240)
    if not items:
        console.print("nothing waits")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("RECEIPT", "AGE", "PHASE", "STATE", "BLOCKS", "OWNER", "TITLE", "AMOUNT", "PROVIDER", "WHY"):
        table.add_column(name, overflow="fold", no_wrap=name == "RECEIPT")
    for item in items:
        title, provider = item.summary.title, item.summary.provider or ""
        phase = item.phase if item.kind == "effect" else f"{item.kind} {item.phase}"
        cells = (
            item.receipt_id,
            age(item.now - item.opened_at),
            phase,
            item.state,
            str(item.blocks),
            owner(item),
            title,
            amount(item.summary),
            provider,
        )
        table.add_row(*(Text(plain(cell)) for cell in (*cells, why(item.reason, item.phase))))
    console.print(table)


def shown_lines(shown: Shown) -> Iterator[str]:
    """A receipt's whole story."""
    case, receipt = shown.case, shown.case.open.receipt
    cost = amount(receipt.summary)
    yield f"{receipt.summary.title}{f' · {cost}' if cost else ''} · {receipt.summary.provider or 'provider not named'}"
    yield f"receipt {receipt.receipt_id} · {receipt.effect_key}"
    flag = " · CONTRADICTED" if receipt.contradicted else ""
    yield f"state {receipt.state}{flag} · version {receipt.version} · attempt {receipt.attempt}"
    yield f"thread {receipt.thread_id} · turn {receipt.turn_id} · agent {receipt.agent_id}"
    yield f"payload {_json(receipt.payload)}"
    if receipt.value is not None or receipt.reference is not None:
        yield f"value {_json(receipt.value)} · reference {receipt.reference or 'none'}"
    yield from _key_lines(shown.key_window, case.open.looked_at)
    yield from _section("waiting turns", case.blocked_turns)
    yield from _section(
        "history", (f"{_time(at.at)} {at.state} (attempt {at.attempt}, {at.cause})" for at in case.transitions)
    )
    yield from _section(
        "items",
        (f"{item.settlement} {item.kind} {item.phase}: {why(item.reason, item.phase)}" for item in case.items),
    )
    yield from _section(
        "seen", (f"{_time(seen.at)} {seen.source}: {seen.finding}: {seen.detail}" for seen in case.observations)
    )
    yield from _section(
        "decided",
        (
            f"{_time(made.at)} {made.actor}: {made.resolution.replace('_', ' ')}: {made.reason}"
            for made in case.decisions
        ),
    )
    yield from _section("proposed", () if shown.proposal is None else proposal_lines(shown.proposal))
    yield from _section("work", _work_lines(case.work, case.open.looked_at))
    yield from _section("said", (f"{_time(note.at)} {note.actor}: {note.kind}: {note.text}" for note in case.notes))
    yield from _section("audit, newest first", map(_audit_line, case.audit))
    yield from _choice_lines(shown)


def _key_lines(window: KeyWindow, now: datetime) -> Iterator[str]:
    """The provider's clock: after it, the same call is another effect."""
    closes = window.closes_at
    if closes is None:
        yield "the provider keeps no key: the same call again is another effect"
    elif window.state == "closed":
        yield f"the provider has forgotten the key at {moment(closes)}: the same call again is another effect"
    else:
        known = f"the provider knows the key until {moment(closes)}, for {age(closes - now)}"
        yield known if window.state == "open" else f"{known}; a call that is sent now may arrive too late"


def proposal_lines(proposal: Proposal) -> Iterator[str]:
    """A decision that waits for a second person, or did."""
    settlement = proposal.settlement
    yield f"{settlement.resolution.replace('_', ' ')}, by {proposal.proposer}: {settlement.reason}"
    if settlement.value is not None:
        yield f"value {settlement.value.decode()} · reference {settlement.reference or 'none'}"
    if settlement.evidence is not None:
        yield f"evidence {settlement.evidence}"
    if proposal.workers_stopped:
        yield f"{proposal.proposer} says that the workers are stopped"
    yield f"proposal {proposal.proposal_id} · asked for by {', '.join(proposal.rules)}"
    yield f"hash {proposal.decision_hash}"
    if proposal.state == "proposed":
        yield f"another person approves or rejects it until {moment(proposal.expires_at)}"
    elif proposal.closed_by is not None:
        words = f": {proposal.closing_reason}" if proposal.closing_reason else ""
        yield f"{proposal.state} by {proposal.closed_by}{words}"
    else:
        yield _OVER[proposal.state]


def _work_lines(work: Work, now: datetime) -> Iterator[str]:
    if work.claimed_by is not None and work.claimed_until is not None and work.claimed_until > now:
        yield f"claimed by {work.claimed_by} until {moment(work.claimed_until)}"
    if work.snoozed_until_change:
        yield "snoozed until a resolver answers something else"
    elif work.snoozed_until is not None and work.snoozed_until > now:
        yield f"snoozed until {moment(work.snoozed_until)}"
    if work.version:
        yield f"version {work.version}"


def _audit_line(line: AuditLine) -> str:
    return f"{_time(line.at)} {line.actor}: {line.action}: {_json(line.detail)}"


def _choice_lines(shown: Shown) -> Iterator[str]:
    choices = shown.choices
    if choices.applied is not None:
        yield f"nothing to decide: {choices.applied}"
        return
    yield "you may decide"
    yield "  applied: yes"
    yield from _second_lines(choices.applied_rules)
    yield from (f"    {line}" for line in consequence_lines(shown.if_applied))
    yield f"  not applied: {verdict_line(choices.not_applied)}"
    if not isinstance(choices.not_applied, Admitted):
        yield f"  not applied, once the workers are stopped: {verdict_line(choices.with_workers_stopped)}"
    yield from _second_lines(choices.not_applied_rules)
    yield from (f"    {line}" for line in consequence_lines(shown.if_not_applied))


def _second_lines(rules: Sequence[str]) -> Iterator[str]:
    if rules:
        yield f"    once a second person approves it: {', '.join(rules)}"


def consequence_lines(follows: Consequences) -> Iterator[str]:
    """What happens then."""
    yield f"the receipt is {follows.state}, with version {follows.version}, by settlement {follows.settlement}"
    waiting = ", ".join(follows.turns)
    yield f"turn {follows.continuation} is asked for; " + (
        f"what waits goes on: {waiting}" if waiting else "no turn waits"
    )
    if follows.may_try_again:
        yield "the program may make another attempt, under the same key"
    else:
        yield "no other attempt is made"


def verdict_line(verdict: Verdict) -> str:
    """A verdict as a sentence."""
    return f"{'yes' if isinstance(verdict, Admitted) else 'no'}, {verdict.reason}"


def _section(title: str, lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    listed = list(lines)
    if listed:
        yield title
        yield from (f"  {line}" for line in listed)


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"


def _json(value: JsonValue) -> str:
    return dumps(value).decode()
