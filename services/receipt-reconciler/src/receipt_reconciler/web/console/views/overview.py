"""What needs a person, counted up to a bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from intention_kernel.identity.principal import Principal
from intention_kernel.ports.operator_queue import QueueItem
from intention_kernel.reconciliation.listing import Page

from receipt_reconciler.web.console.rendering import url
from receipt_reconciler.web.console.views.queue import Row, row
from receipt_reconciler.web.console.views.times import When, when
from receipt_reconciler.web.console.views.wording import Tone

MOST = 200
"""What is beyond it is not counted: a number that large only says that there is much."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A count with where it leads; `tone` of a count of nothing is quiet."""

    title: str
    count: str
    text: str
    href: str
    tone: Tone
    sign: str
    oldest: When | None = None


def counted_up_to(count: int) -> str:
    """`200+` where there are more."""
    return f"{MOST}+" if count > MOST else str(count)


def tile(title: str, text: str, words: str, page: Page, tone: Tone, sign: str) -> Tile:
    """Of the items of a filter; the page holds at most MOST of them."""
    count = len(page.items) + (1 if page.cursor else 0)
    return Tile(
        title, counted_up_to(count), text, url("/queue", q=words), tone if count else "quiet", sign, oldest(page.items)
    )


def oldest(items: Sequence[QueueItem]) -> When | None:
    """Since when the oldest of these waits."""
    if not items:
        return None
    return when(min(item.opened_at for item in items), items[0].now)


def plain_tile(title: str, text: str, href: str, count: int, tone: Tone, sign: str) -> Tile:
    """Of anything else."""
    return Tile(title, counted_up_to(count), text, href, tone if count else "quiet", sign)


def first_rows(page: Page, who: Principal, limit: int = 5) -> tuple[Row, ...]:
    """What is next, in the order of need."""
    return tuple(row(item, who) for item in page.items[:limit])


def expiring(expiries: Sequence[datetime], now: datetime) -> str:
    """When the next of what waits runs out."""
    return f"the next expires {when(min(expiries), now).words}" if expiries else "nothing waits for a second person"
