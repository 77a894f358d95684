"""The queue as a page shows it."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.identity.principal import Principal
from intention_kernel.ids import derived_id
from intention_kernel.ports.operator_queue import QueueItem
from intention_kernel.reconciliation.document import item_document
from intention_kernel.reconciliation.filter_words import FILTER_WORDS
from intention_kernel.reconciliation.filtering import FilterProblem
from intention_kernel.reconciliation.listing import Page
from intention_kernel.reconciliation.masking_documents import masked_item

from receipt_reconciler.web.console.rendering import segment, url
from receipt_reconciler.web.console.views.times import KeyClock, When, key_clock, span, when
from receipt_reconciler.web.console.views.wording import Badge, amount_words, counted, item_badge, reason_words

QUICK = (
    ("All that waits", ""),
    ("Mine", "owner:me"),
    ("Unclaimed", "owner:none"),
    ("Contradicted", "status:contradicted"),
    ("Key window closing", "status:open window<1h"),
    ("Continuation failed", "status:failed"),
    ("Snoozed", "snoozed:yes"),
)
"""Filters with a name; a URL holds the filter itself."""


@dataclass(frozen=True, slots=True)
class Row:
    """One item. `mark` differs where anything about it does."""

    receipt_id: str
    mark: str
    href: str
    title: str
    thread_id: str
    amount: str
    effect: str
    provider: str | None
    badge: Badge
    why: str
    blocks: str
    clock: KeyClock
    opened: When
    owner: str
    snoozed: str


@dataclass(frozen=True, slots=True)
class Quick:
    """A filter with a name."""

    text: str
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class Word:
    """A word of filters, explained."""

    word: str
    example: str
    meaning: str
    href: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the text is no filter: what is before the place, and what begins there."""

    character: int
    message: str
    before: str
    after: str
    suggestion: str | None
    repaired: str


@dataclass(frozen=True, slots=True)
class QueueView:
    """The whole page. `live` is where its changes are told."""

    query: str
    rows: tuple[Row, ...]
    caption: str
    next: str | None
    problem: Problem | None
    quick: tuple[Quick, ...]
    words: tuple[Word, ...]
    empty_title: str
    empty_text: str
    live: str


def queue_view(query: str, cursor: str | None, answer: Page | FilterProblem, who: Principal) -> QueueView:
    """What was found for `query`, or why it is none."""
    items = answer.items if isinstance(answer, Page) else ()
    more = answer.cursor if isinstance(answer, Page) else None
    problem = problem_view(query, answer) if isinstance(answer, FilterProblem) else None
    title, text = _empty(query)
    caption = f"{counted(len(items), 'item')}{' on this page, and more' if more or cursor else ''}"
    return QueueView(
        query=query,
        rows=tuple(row(item, who) for item in items),
        caption=caption,
        next=None if more is None else url("/queue", q=query, cursor=more),
        problem=problem,
        quick=tuple(Quick(text, url("/queue", q=words), words == query) for text, words in QUICK),
        words=tuple(Word(word, *shown, url("/queue", q=shown[0])) for word, shown in FILTER_WORDS.items()),
        empty_title=title,
        empty_text=text,
        live=url("/live", q=query) if problem is None else "",
    )


def row(item: QueueItem, who: Principal) -> Row:
    """One line. What a provider said in it is a shape, but for those who work on receipts."""
    shown = masked_item(item_document(item), words=who.may("receipts:work"))
    words = reason_words(str(shown["reason"]))
    return Row(
        receipt_id=item.receipt_id,
        mark=_mark(item),
        href=f"/receipts/{item.receipt_id}",
        title=item.summary.title or "(no title)",
        thread_id=item.thread_id,
        amount=amount_words(item.summary),
        effect=item.effect_id,
        provider=item.summary.provider,
        badge=item_badge(item.phase, item.kind, item.state, contradicted=item.contradicted),
        why=f"{words}; its conversation goes on next" if item.phase == "decided" else words,
        blocks=counted(item.blocks, "turn") if item.blocks else "nothing",
        clock=key_clock(item.key_closes_at, item.now),
        opened=when(item.opened_at, item.now),
        owner=_owner(item, who.user),
        snoozed=_snoozed(item),
    )


def problem_view(query: str, problem: FilterProblem) -> Problem:
    """The place, and the text with what is suggested in it."""
    before, after = query[: problem.position], query[problem.position :]
    suggestion = problem.suggestion
    # A whole term is suggested in place of its wrong value, a word in place of a word.
    begin = before.rfind(" ") + 1 if suggestion and any(sign in suggestion for sign in ":<>") else problem.position
    end = next((at for at in range(problem.position, len(query)) if query[at] in " :<>=,"), len(query))
    if begin != problem.position:
        end = next((at for at in range(problem.position, len(query)) if query[at] == " "), len(query))
    repaired = url("/queue", q=f"{query[:begin]}{suggestion}{query[end:]}") if suggestion else ""
    return Problem(problem.position + 1, problem.message, before, after, suggestion, repaired)


def _mark(item: QueueItem) -> str:
    """A digest: what it is made of may be somebody's secret."""
    claim = (item.claimed_by or "", str(item.claimed_until))
    return derived_id(str(item.version), item.phase, item.reason, str(item.blocks), *claim)


def _owner(item: QueueItem, reader: str) -> str:
    if item.claimed_by is None or item.claimed_until is None or item.claimed_until <= item.now:
        return "nobody"
    name = "you" if item.claimed_by == reader else item.claimed_by
    return f"{name}, {span((item.claimed_until - item.now).total_seconds())} left"


def _snoozed(item: QueueItem) -> str:
    if item.snoozed_until_change:
        return "snoozed until its resolver says something else"
    if item.snoozed_until is None or item.snoozed_until <= item.now:
        return ""
    return f"snoozed, {span((item.snoozed_until - item.now).total_seconds())} left"


def _empty(query: str) -> tuple[str, str]:
    if query:
        return "Nothing matches", "No item in the queue is what this filter names. What is snoozed or done is left out."
    return (
        "Nothing needs a person",
        "Every effect's outcome is known, or a resolver is finding it out. What nobody can find out shows up here by itself.",
    )


def thread_path(thread_id: str) -> str:
    """The page of a conversation."""
    return f"/threads/{segment(thread_id)}"


def turn_path(thread_id: str, turn_id: str) -> str:
    """The page of a turn."""
    return f"{thread_path(thread_id)}/turns/{segment(turn_id)}"
