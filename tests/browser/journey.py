"""FAN-7's reservation, settled by a person: from signing in until the conversation has gone on, whatever hand does it."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect

from tests.browser.hands import Hand
from tests.browser.place import PASSWORD, Place, shows

LINK = "https://inventory.example/reservations/FAN-7"
IN_THE_LIST = "the provider's records show it"


def fold(page: Page, text: str) -> Locator:
    """What folds a part of the page out."""
    return page.locator("summary").filter(has_text=text)


def button(page: Page, text: str) -> Locator:
    """A button by its whole text."""
    return page.get_by_role("button", name=text, exact=True)


def labelled(page: Page, label: str) -> Locator:
    """A field by its whole label."""
    return page.locator("#main").get_by_label(label, exact=True)


async def sign_in(hand: Hand, name: str) -> None:
    """At the form that every page leads to."""
    await hand.type(labelled(hand.page, "Name"), name)
    await hand.type(labelled(hand.page, "Password"), PASSWORD)
    await hand.press(button(hand.page, "Sign in"))
    await expect(hand.page.get_by_role("heading", level=1)).to_have_text("Overview")


async def find(hand: Hand, thread_id: str) -> None:
    """In the queue, by its conversation; then open it."""
    page = hand.page
    await hand.press(page.get_by_role("navigation", name="Pages").get_by_role("link", name="Queue"))
    await expect(page.get_by_role("heading", level=1)).to_have_text("Queue")
    await hand.type(labelled(page, "Filter"), f"thread:{thread_id}")
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-row]")).to_have_count(1)
    await shows(page, "the reservation of 2 FILTER-A", "2 pieces", "inventory", "uncertain", "nobody")
    await hand.press(page.get_by_role("link", name="the reservation of 2 FILTER-A"))
    await expect(page.get_by_role("heading", level=1)).to_have_text("the reservation of 2 FILTER-A")


async def work(hand: Hand) -> None:
    """Claim it, keep evidence, and look at the real values for a reason."""
    page = hand.page
    await hand.press(button(page, "Claim"))
    await shows(page, "You have claimed it", "you, until")
    await hand.press(fold(page, "Comment or evidence"))
    await hand.take(labelled(page, "What it is"), "evidence: a link", 1)
    await hand.type(page.locator("#f-text"), LINK)
    await hand.press(button(page, "Keep it"))
    await expect(page.get_by_role("link", name=LINK)).to_have_attribute("rel", "noopener noreferrer nofollow")
    payload = page.get_by_role("region", name="Payload")
    await expect(payload).not_to_contain_text("FILTER-A")
    await hand.type(labelled(page, "Why you need the real values"), "to compare with the inventory's list")
    await hand.press(button(page, "Reveal"))
    await shows(page, "These are the real values")
    await expect(payload).to_contain_text("FILTER-A")


async def fill_in(hand: Hand, value: dict[str, str]) -> None:
    """The decision: applied, with the value that the inventory has."""
    page = hand.page
    await hand.tick(page.get_by_role("radio", name="Applied: the provider has it"))
    for name, text in value.items():
        await hand.type(labelled(page, name), text)
    await hand.type(page.locator("#f-reference"), value["reference"])
    await hand.take(labelled(page, "Reason"), IN_THE_LIST, 1)
    await hand.type(labelled(page, "In your words"), "it is in the inventory's own list")
    await hand.type(page.locator("#f-evidence"), LINK)


async def foretold(hand: Hand, value: dict[str, str]) -> None:
    """To the page that tells what will happen."""
    await fill_in(hand, value)
    await hand.press(button(hand.page, "Show what will happen"))
    await expect(hand.page.get_by_role("heading", level=1)).to_have_text("What will happen")


async def check_it_comes_by_itself(page: Page) -> None:
    """The page that was left open says that the conversation has gone on, and calls nothing a change of somebody's."""
    await page.evaluate("window.sameDocument = true")
    await shows(page, "The conversation has gone on.")
    await expect(page.locator("[data-stale]")).to_be_hidden()
    assert await page.evaluate("window.sameDocument"), "it was loaded again"


async def goes_back(place: Place, hand: Hand, receipt: str) -> None:
    """Back from what will happen is the receipt, and nothing was decided."""
    page = hand.page
    await page.go_back()
    await expect(page.get_by_role("heading", level=1)).to_have_text("the reservation of 2 FILTER-A")
    assert page.url.endswith(f"/receipts/{receipt}")
    await expect(button(page, "Show what will happen")).to_be_visible()
    assert await place.decisions(receipt) == []


async def settle(place: Place, hand: Hand, receipt: str, *, comes_by_itself: bool) -> None:
    """What will happen is told and nothing is done; then it is decided, and the outcome is a second fact."""
    page, turn = hand.page, f"reconciliation:{receipt}:1:1"
    await foretold(hand, await place.reservation())
    await shows(page, f"The continuation turn {turn} is asked for.", "1 waiting turn goes on by it.", IN_THE_LIST)
    assert await place.decisions(receipt) == []
    await hand.press(button(page, "Decide: applied"))
    await shows(page, "Decided. The conversation goes on by itself", "ana: decided: applied, reference RES-000001")
    assert await place.decisions(receipt) == [("ana", "applied")]
    outcome = page.get_by_role("region", name="Decision and outcome")
    if comes_by_itself:
        await check_it_comes_by_itself(page)
    await place.await_item(receipt, "done")
    await page.goto(f"/receipts/{receipt}")
    await expect(outcome).to_contain_text("done")
    await expect(outcome).to_contain_text("The conversation has gone on.")
    await hand.press(outcome.get_by_role("link", name=turn))
    await expect(page.get_by_role("heading", level=1)).to_have_text(turn)
    await shows(page, "completed", "effect.completed", "the work order of FAN-7")


async def whole_journey(place: Place, hand: Hand, thread_id: str, *, comes_by_itself: bool = False) -> str:
    """From the address of the console to the turn that went on; the receipt's id. `comes_by_itself`: the page that is left open
    is told the outcome."""
    receipt = await place.uncertain(thread_id)
    await hand.page.goto("/")
    await sign_in(hand, "ana")
    await find(hand, thread_id)
    await work(hand)
    if comes_by_itself:
        await foretold(hand, await place.reservation())
        await goes_back(place, hand, receipt)
    await settle(place, hand, receipt, comes_by_itself=comes_by_itself)
    return receipt
