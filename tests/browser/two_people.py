"""Decisions that need two people: the rule, as an admin sets it in the browser, and what waits because of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Page, expect

from tests.browser.place import Place, shows

RULE = "two-people"
_PROPOSAL = """
select proposal_id, decision_hash from proposals join receipts using (thread_id, effect_key) where receipt_id = $1
"""


@asynccontextmanager
async def ruled_by_two(admin: Page) -> AsyncIterator[None]:
    """Meanwhile "applied" is two people's for the reservations that only people settle."""
    await admin.goto("/rules")
    new = admin.get_by_role("region", name="New rule")
    await new.get_by_label("Name", exact=True).fill(RULE)
    await new.get_by_label("Effects").fill("inventory.reserve_manual")
    await new.get_by_role("checkbox", name="applied", exact=True).check()
    await new.get_by_role("button", name="Make it").click()
    await shows(admin, "The rule counts from the next decision on.", RULE)
    try:
        yield
    finally:
        await admin.goto("/rules")
        row = admin.get_by_role("row").filter(has=admin.get_by_role("rowheader", name=RULE))
        await row.locator("summary").click()
        await row.get_by_role("button", name="Turn it off").click()
        await expect(row).to_contain_text("off")


async def proposal_of(place: Place, receipt: str) -> tuple[str, str]:
    """Its id and its hash."""
    [row] = await place.system.fetch(_PROPOSAL, receipt)
    return row["proposal_id"], row["decision_hash"]


async def sent_approval(place: Place, page: Page, receipt: str) -> int:
    """The form of an approval, sent by a page that does not offer it; the answer's status."""
    proposal_id, decision_hash = await proposal_of(place, receipt)
    status: int = await page.evaluate(
        "async ([path, hash]) => (await fetch(path, { method: 'POST', body: new URLSearchParams({ hash }) })).status",
        [f"/proposals/{proposal_id}/approve", decision_hash],
    )
    return status
