"""Pictures of the console's main pages over FAN-7 in its real processes: `python -m tests.browser.pictures DIRECTORY`.

With `--all` each page in both themes, wide and narrow, which is what to look at after a change of the look.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import tempfile
from pathlib import Path

from playwright.async_api import Page, expect

from tests.browser.hands import Mouse
from tests.browser.journey import LINK, foretold
from tests.browser.place import Place, open_place, scripts_run
from tests.browser.two_people import ruled_by_two
from tests.support.fan7 import request
from tests.support.servers import current_run, shared_servers, stop_shared_servers

_WIDTHS = {"wide": 1280, "narrow": 390}
_HEIGHT = 860
_LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in _WIDTHS]
_IN_THE_DOCUMENTS = {
    "login": ("light", "narrow"),
    "overview": ("light", "wide"),
    "queue": ("light", "wide"),
    "queue-narrow": ("dark", "narrow"),
    "receipt": ("light", "wide"),
    "receipt-dark": ("dark", "wide"),
    "what-will-happen": ("light", "wide"),
    "proposal": ("light", "wide"),
    "turn": ("dark", "wide"),
}
_QUALITY = 80


class Pictures:
    """Takes them: of each page one, or all looks."""

    def __init__(self, directory: Path, *, every_look: bool) -> None:
        self._directory = directory
        self._every_look = every_look

    async def take(self, page: Page, *names: str) -> None:
        """As it is now; of `names` each has its look."""
        looks = {name: _IN_THE_DOCUMENTS[name] for name in names}
        if self._every_look:
            looks = {f"{names[0]}-{scheme}-{width}": (scheme, width) for scheme, width in _LOOKS}
        for name, (scheme, width) in looks.items():
            await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
            await page.set_viewport_size({"width": _WIDTHS[width], "height": _HEIGHT})
            await self._write(page, self._directory / f"{name}.webp")
        await page.set_viewport_size({"width": _WIDTHS["wide"], "height": _HEIGHT})

    async def _write(self, page: Page, file: Path) -> None:
        browser = await page.context.new_cdp_session(page)
        options = {"format": "webp", "quality": _QUALITY, "captureBeyondViewport": self._every_look}
        taken = await browser.send("Page.captureScreenshot", options)
        await browser.detach()
        await asyncio.to_thread(file.write_bytes, base64.b64decode(taken["data"]))


async def photograph(place: Place, pictures: Pictures) -> None:
    """FAN-7 as its operators meet it."""
    async with place.page() as page:
        await page.goto("/login")
        await pictures.take(page, "login")
    lost = [await place.uncertain(f"job-{number}") for number in (1, 2, 3)]
    await place.say(request("job-1", "how-many", "How many are left?"))
    async with place.page("ana") as page:
        await work_and_settle(place, page, pictures, lost[0], lost[1])
        async with place.page("dora") as admin, ruled_by_two(admin):
            await page.goto(f"/receipts/{lost[2]}")
            await foretold(Mouse(page), await place.reservation())
            await page.get_by_role("button", name="Propose it").click()
            async with place.page("cleo") as approver:
                await approver.goto("/proposals")
                await scripts_run(approver)
                await pictures.take(approver, "proposal")
        for path, names in (("/", ("overview",)), ("/queue", ("queue", "queue-narrow"))):
            await page.goto(path)
            await scripts_run(page)
            await pictures.take(page, *names)


async def work_and_settle(place: Place, page: Page, pictures: Pictures, one: str, other: str) -> None:
    """Some work on `one`, then a decision about `other`, whose conversation goes on."""
    await place.post("ana", f"/receipts/{one}/claim", {"minutes": "60"})
    await place.post("ana", f"/receipts/{one}/note", {"kind": "link", "text": LINK})
    await page.goto(f"/receipts/{one}")
    await scripts_run(page)
    await pictures.take(page, "receipt", "receipt-dark")
    await page.goto(f"/receipts/{other}")
    await foretold(Mouse(page), await place.reservation())
    await pictures.take(page, "what-will-happen")
    await page.get_by_role("button", name="Decide: applied").click()
    await expect(page.locator("[data-said]")).to_be_visible()
    await place.await_item(other, "done")
    await page.goto(f"/threads/job-2/turns/reconciliation%3A{other}%3A1%3A1")
    await scripts_run(page)
    await pictures.take(page, "turn")


async def main(directory: Path, *, every_look: bool) -> None:
    """On servers that are running, or its own."""
    run = current_run()
    servers = await asyncio.to_thread(shared_servers, run)
    try:
        with tempfile.TemporaryDirectory() as inventory:
            async with open_place(servers, Path(inventory)) as place:
                await photograph(place, Pictures(directory, every_look=every_look))
    finally:
        await asyncio.to_thread(stop_shared_servers, run)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.browser.pictures", description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--all", action="store_true", help="every page in both themes, wide and narrow, at full length")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(options.directory, every_look=options.all))
