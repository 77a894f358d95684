"""People settle FAN-7's reservation in a browser: alone, against each other, against a resolver, and in pairs."""

from __future__ import annotations

import json
import re
from datetime import datetime

import pytest
from intention_kernel.testing.processes import Process
from playwright.async_api import expect

from tests.browser.chromium import require_browser
from tests.browser.hands import Keys, Mouse
from tests.browser.journey import button, fill_in, foretold, labelled, whole_journey
from tests.browser.place import PATIENCE_SECONDS, Place, console_url, scripts_run, shows
from tests.browser.two_people import proposal_of, ruled_by_two, sent_approval
from tests.support.fan7 import RESERVATION_KEYS, WORK_ORDER_KEY

require_browser()
pytestmark = pytest.mark.asyncio(loop_scope="module")

_STOPS_AT = 6
FAILPOINTS = f"provider.after_commit=stop@{_STOPS_AT}"
"""The inventory stands still after so many writes: more than the module's tests make but for the one that means it."""


_SEEN_ELSEWHERE = {
    "sku": "FILTER-A",
    "quantity": "2",
    "reference": "RES-999",
    "fingerprint": "on paper",
    "reservedAt": "2026-12-01T09:00:00Z",
}


_CUT_AFTER_SECONDS = 1.5
"""What is open longer than this after the end began is cut; nothing has to be."""
_LISTEN = """new Promise((opened) => {
  const source = new EventSource(document.getElementById("main").dataset.live);
  source.addEventListener("queue", opened);
  window.farewell = new Promise((told) => {
    source.addEventListener("bye", (event) => { source.close(); told(JSON.parse(event.data).reason); });
    source.addEventListener("error", () => { source.close(); told("nothing"); });
  });
})"""


def seconds_of_shutting_down(process: Process) -> float:
    """From the moment at which its server was told to end until it had, on its own clock."""
    lines = [json.loads(line) for line in process.output().splitlines() if line.startswith("{")]
    began, ended = (
        next(datetime.fromisoformat(line["at"]) for line in lines if line["message"].startswith(words))
        for words in ("Shutting down", "Finished server process")
    )
    return (ended - began).total_seconds()


async def stand_still_at_the_next_write(place: Place) -> None:
    """As many writes as are missing, all of one reservation that is there or is made."""
    key = RESERVATION_KEYS["operator"]
    await place.inventory.client.drop_replies(0)
    await place.inventory.client.reserve(key, "FILTER-A", 2)
    for number in range(len(await place.inventory.ledger()), _STOPS_AT - 1):
        await place.inventory.client.write_work_order(f"filler:{number}", key, "Sweep the floor")


async def check_went_on(place: Place, receipt: str, calls_before: list[str]) -> None:
    """The work order was asked for and is there once; nobody reserved again."""
    calls = place.inventory.calls()[len(calls_before) :]
    assert calls == [RESERVATION_KEYS["operator"], WORK_ORDER_KEY]
    assert (await place.inventory.ledger()).count(WORK_ORDER_KEY) == 1
    assert [action for _, action in await place.audit(receipt)] == ["claim", "evidence", "revealed", "settle"]


async def test_an_operator_settles_the_reservation_with_the_mouse(place: Place) -> None:
    calls = place.inventory.calls()
    async with place.page() as page:
        receipt = await whole_journey(place, Mouse(page), "by-mouse", comes_by_itself=True)
    await check_went_on(place, receipt, calls)


async def test_an_operator_settles_the_reservation_without_javascript(place: Place) -> None:
    calls = place.inventory.calls()
    async with place.page(java_script_enabled=False) as page:
        receipt = await whole_journey(place, Mouse(page), "without-scripts")
    await check_went_on(place, receipt, calls)


async def test_an_operator_settles_the_reservation_with_keys_alone(place: Place) -> None:
    calls = place.inventory.calls()
    async with place.page() as page:
        receipt = await whole_journey(place, Keys(page), "by-keys")
    await check_went_on(place, receipt, calls)


async def test_no_single_key_decides(place: Place) -> None:
    """Where keys lead, none of them leads to a decision, neither at the form nor at the page that asks once more."""
    receipt = await place.uncertain("single-keys")
    async with place.page("ana") as page:
        hand = Mouse(page)
        await page.goto("/")
        await scripts_run(page)
        await page.keyboard.press("g")
        await page.keyboard.press("q")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Queue")
        await scripts_run(page)
        await page.evaluate("window.stayed = true")
        await page.keyboard.press("/")
        await page.keyboard.type("thread:single-keys")
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile("q=thread"))
        await expect(page.locator("[data-row]")).to_have_count(1)
        assert await page.evaluate("window.stayed"), "the search box's key left the page"
        await page.keyboard.press("j")
        await expect(page.locator("[data-row].current")).to_have_count(1)
        await page.keyboard.press("o")
        await expect(page.get_by_role("heading", level=1)).to_have_text("the reservation of 2 FILTER-A")
        await scripts_run(page)
        await page.keyboard.press("c")
        await shows(page, "You have claimed it")
        await foretold(hand, await place.reservation())
        for key in [*"abcdefhijklmnopqsuvwxyz0123456789", "Enter", "Space", "Delete", "Backspace", "F1", "ArrowDown"]:
            await page.keyboard.press(key)
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
        await expect(button(page, "Decide: applied")).to_be_visible()
    assert await place.decisions(receipt) == []


async def test_of_two_operators_one_decides_and_the_other_is_told_and_loses_no_word(place: Place) -> None:
    receipt = await place.uncertain("two-operators")
    value = await place.reservation()
    async with place.page("ana") as first, place.page("ben") as second:
        await first.goto(f"/receipts/{receipt}")
        await second.goto(f"/receipts/{receipt}")
        await foretold(Mouse(first), value)
        await fill_in(Mouse(second), value)
        await labelled(second, "In your words").fill("I have telephoned with the storekeeper")
        await button(second, "Show what will happen").click()
        await expect(button(second, "Decide: applied")).to_be_visible()
        await button(first, "Decide: applied").click()
        await shows(first, "Decided.")
        await button(second, "Decide: applied").click()
        await shows(second, "Nothing was decided", "What changed since you looked", "Decided by ana")
        await shows(second, "I have telephoned with the storekeeper")
    assert await place.decisions(receipt) == [("ana", "applied")]
    await place.await_item(receipt, "done")


async def test_a_claim_keeps_others_from_deciding_until_they_take_it_over_with_a_reason(place: Place) -> None:
    receipt = await place.uncertain("takeover")
    async with place.page("ana") as first, place.page("ben") as second:
        await second.goto(f"/receipts/{receipt}")
        await fill_in(Mouse(second), await place.reservation())
        await first.goto(f"/receipts/{receipt}")
        await button(first, "Claim").click()
        await shows(first, "You have claimed it")
        await button(second, "Show what will happen").click()
        await shows(second, "Nothing was decided: ana works on it until")
        await expect(labelled(second, "In your words")).to_have_value("it is in the inventory's own list")
        await labelled(second, "Why you take it over").fill("ana has gone home")
        await button(second, "Take over").click()
        await shows(second, "You have taken it over.", "ana has gone home")
        await first.reload()
        await shows(first, "ben works on it")
    assert await place.decisions(receipt) == []
    assert await place.audit(receipt) == [("ana", "claim"), ("ben", "takeover")]


async def test_a_resolver_that_is_first_leaves_the_operator_told_and_nothing_settled_twice(place: Place) -> None:
    """The inventory stands still with the reservation in its books; when it goes on, its answer is the resolver's."""
    await stand_still_at_the_next_write(place)
    try:
        receipt = await place.uncertain("resolver", "lookup")
        async with place.page("ana") as page:
            await page.goto(f"/receipts/{receipt}")
            await foretold(Mouse(page), {"key": RESERVATION_KEYS["lookup"], **_SEEN_ELSEWHERE})
            place.inventory.provider.resume()
            await place.await_item(receipt, "done")
            await button(page, "Decide: applied").click()
            await shows(page, "Nothing was decided", "What changed since you looked", "Decided by resolver:lookup")
    finally:
        place.inventory.provider.resume()
    assert await place.decisions(receipt) == [("resolver:lookup", "applied")]


async def test_what_a_rule_asks_two_people_for_is_proposed_and_approved_by_its_hash(place: Place) -> None:
    receipt = await place.uncertain("four-eyes")
    async with place.page("dora") as proposer, place.page("cleo") as approver, ruled_by_two(proposer):
        await proposer.goto(f"/receipts/{receipt}")
        await foretold(Mouse(proposer), await place.reservation())
        await shows(proposer, "A second person is needed, by the rule two-people.", "by its hash")
        await button(proposer, "Propose it").click()
        await shows(proposer, "Proposed.", "You cannot approve your own proposal; another person does.")
        await expect(button(proposer, "Approve exactly this")).to_have_count(0)
        assert await sent_approval(place, proposer, receipt) == 403
        assert await place.decisions(receipt) == []
        await approver.goto("/proposals")
        card = approver.get_by_role("region", name="the reservation of 2 FILTER-A")
        await expect(card).to_contain_text((await proposal_of(place, receipt))[1])
        await expect(card).to_contain_text("dora proposes applied")
        await card.get_by_role("button", name="Approve exactly this").click()
        await shows(approver, "Approved and decided.")
        assert await place.decisions(receipt) == [("dora", "applied")]
        await place.await_item(receipt, "done")
        await approver.goto(f"/receipts/{receipt}")
        await shows(approver, "The conversation has gone on.", "It is approved by cleo")


async def test_what_another_changes_is_marked_where_it_stands_without_loading_the_page_again(place: Place) -> None:
    receipt = await place.uncertain("live")
    async with place.page("ben") as watching, place.page("ana") as working:
        await watching.goto("/queue?q=thread:live")
        await scripts_run(watching)
        await watching.evaluate("window.sameDocument = true")
        row = watching.locator(f'[data-receipt="{receipt}"]')
        await expect(row.locator("[data-changed]")).to_be_hidden()
        await working.goto(f"/receipts/{receipt}")
        await button(working, "Claim").click()
        await expect(row.locator("[data-changed]")).to_be_visible()
        await shows(watching, "1 of these has changed.")
        await expect(watching.get_by_role("status").filter(has_text="1 of these has changed.")).to_be_visible()
        await expect(row.locator('[data-label="Owner"]')).to_have_text("nobody")
        assert await watching.evaluate("window.sameDocument")
        await watching.get_by_role("link", name="Refresh").click()
        await expect(row.locator('[data-label="Owner"]')).to_contain_text("ana")
        await expect(row.locator("[data-changed]")).to_be_hidden()


async def test_a_page_that_is_open_does_not_hold_up_the_process_and_goes_on_with_the_next(place: Place) -> None:
    receipt = await place.uncertain("stopping")
    first = await place.system.start_reconciler(console_port=0)
    url = await console_url(first)
    async with place.page("ben", url=url, is_interrupted=True) as page:
        await page.goto("/queue?q=thread:stopping")
        await page.evaluate(_LISTEN)
        await expect(page.locator("[data-stale]")).to_be_hidden()
        first.terminate()
        assert await first.await_end() == 0
        assert seconds_of_shutting_down(first) < _CUT_AFTER_SECONDS
        assert await page.evaluate("window.farewell") == "stop"
        async with place.page("ana") as working:
            await working.goto(f"/receipts/{receipt}")
            await button(working, "Claim").click()
            await shows(working, "You have claimed it")
        await place.system.start_reconciler(console_port=int(url.rpartition(":")[2]))
        await expect(page.locator("[data-changed]")).to_be_visible(timeout=PATIENCE_SECONDS * 1000)
