"""Every page in both themes: accessible, no wider than a telephone, within its policy; hostile texts stay texts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.axe import complaints
from tests.browser.chromium import require_browser
from tests.browser.hands import Mouse
from tests.browser.hostile import HOSTILE, LINK, Ground, hostile_ground
from tests.browser.journey import fill_in
from tests.browser.place import Place, scripts_run, shows

require_browser()
pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGES = sorted(Ground("", "", "").paths)
_SAYS_IT = {
    "queue": HOSTILE,
    "queue, no filter": HOSTILE,
    "receipt, uncertain": HOSTILE,
    "receipt, proposed": HOSTILE,
    "receipt, settled": HOSTILE,
    "proposals": HOSTILE,
    "conversation": HOSTILE,
    "turn, blocked": HOSTILE,
    "audit": HOSTILE,
    "rules": HOSTILE,
    "settings": HOSTILE,
}
_NARROW, _HIGH = 320, 800


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ground(place: Place) -> Ground:
    return await hostile_ground(place)


async def check(page: Page) -> None:
    """In light and dark, wide and narrow; and nothing of what others wrote has run or leads anywhere."""
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    said = await complaints(page)
    await page.emulate_media(color_scheme="dark")
    said += await complaints(page, only_colours=True)
    assert not said, "\n".join(said)
    await page.set_viewport_size({"width": _NARROW, "height": _HIGH})
    assert await page.evaluate("document.documentElement.scrollWidth") <= _NARROW, await widest(page)
    assert await page.evaluate("window.hit") is None
    assert await page.locator("main img, main script, a[href^='javascript']").count() == 0


async def widest(page: Page) -> list[str]:
    """What sticks out of the narrow screen, to be told."""
    found: list[str] = await page.evaluate(
        "[...document.querySelectorAll('body *')].filter(one => one.getBoundingClientRect().right > innerWidth + 1"
        " && !one.closest('.scroll, .json, .strip')).map(one => one.outerHTML.slice(0, 160)).slice(0, 8)"
    )
    return found


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_is_accessible_narrow_and_within_its_policy(place: Place, ground: Ground, name: str) -> None:
    async with place.page("dora") as page:
        await page.goto(ground.paths[name])
        await scripts_run(page)
        if name in _SAYS_IT:
            await shows(page, _SAYS_IT[name])
        await check(page)


async def test_pages_that_forms_lead_to_are_so_too(place: Place, ground: Ground) -> None:
    async with place.page() as page:
        await page.goto("/login?next=" + LINK)
        await page.get_by_label("Name").fill(HOSTILE)
        await page.get_by_label("Password").fill("not the password")
        await page.get_by_role("button", name="Sign in").click()
        await shows(page, "The name or the password is wrong.")
        await expect(page.get_by_label("Name")).to_have_value(HOSTILE)
        await check(page)


async def test_real_values_and_what_will_happen_are_so_too(place: Place, ground: Ground) -> None:
    async with place.page("dora", viewport={"width": 1280, "height": 900}) as page:
        await page.goto(f"/receipts/{ground.hostile}")
        await page.get_by_label("Why you need the real values").fill(HOSTILE)
        await page.get_by_role("button", name="Reveal").click()
        await shows(page, "These are the real values", f'"{HOSTILE[:20]}')
        await check(page)
        await page.set_viewport_size({"width": 1280, "height": 900})
        await page.goto(f"/receipts/{ground.hostile}")
        await fill_in(Mouse(page), {**await place.reservation(), "sku": HOSTILE, "reference": HOSTILE})
        await page.get_by_label("In your words").fill(HOSTILE)
        await page.get_by_role("button", name="Show what will happen").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("What will happen")
        await shows(page, HOSTILE)
        await check(page)


async def test_the_list_of_keys_is_so_too(place: Place) -> None:
    async with place.page("ana") as page:
        await page.goto("/settings")
        await scripts_run(page)
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        assert await complaints(page) == []


@asynccontextmanager
async def another_site(target: str, fields: dict[str, str]) -> AsyncIterator[str]:
    """A page on another port of this host, which browsers count as the same site, that sends a form by itself."""
    inputs = "".join(f'<input type="hidden" name="{name}" value="{value}">' for name, value in fields.items())
    body = f'<form method="post" action="{target}">{inputs}</form><script>document.forms[0].submit()</script>'
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write((head + body).encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("claim", {"minutes": "15", "work_version": "0"}),
        ("note", {"kind": "comment", "text": "from elsewhere"}),
        (
            "decide",
            {
                "resolution": "not_applied",
                "workers_stopped": "yes",
                "expected_version": "2",
                "step": "confirm",
                "reason": "x",
            },
        ),
    ],
)
async def test_a_form_that_another_site_sends_changes_nothing(place: Place, path: str, fields: dict[str, str]) -> None:
    receipt = await place.uncertain(f"forged-{path}")
    async with place.page("dora") as page, another_site(f"{place.url}/receipts/{receipt}/{path}", fields) as site:
        async with page.expect_response(f"**/{path}") as answered:
            await page.goto(site)
        assert (await answered.value).status == 403
        await shows(page, "This form was not sent by a page of this console.")
    assert await place.audit(receipt) == []
    assert await place.decisions(receipt) == []
