"""How people work a page: with the mouse, or with keys alone. What is pointed at is named as a reader would name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from playwright.async_api import Locator, Page

_MOST_TABS = 150

# What has the focus now: whether it is `wanted`, whether it can be seen and is marked, and whether it comes after the last.
_FOCUSED = """(wanted) => {
  const at = document.activeElement, last = window.lastFocused;
  window.lastFocused = at;
  if (at === document.body || at === null) return { wanted: false, seen: true, marked: true, after: true };
  const box = at.getBoundingClientRect(), style = getComputedStyle(at);
  return {
    wanted: at === wanted,
    seen: box.width > 0 && box.height > 0 && box.top < innerHeight && box.bottom > 0 && box.left < innerWidth && box.right > 0,
    marked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    after: !last || !last.isConnected || last === document.body || Boolean(last.compareDocumentPosition(at) & 4),
    what: at.outerHTML.slice(0, 200),
  };
}"""


class Hand(Protocol):
    """Somebody's way to work a page."""

    page: Page

    async def press(self, what: Locator) -> None:
        """A link, a button, or what folds something out."""

    async def tick(self, what: Locator) -> None:
        """A box or a radio button."""

    async def type(self, what: Locator, text: str) -> None:
        """Into an empty field."""

    async def take(self, what: Locator, option: str, nth: int) -> None:
        """The option of that text, the `nth` of a list; the first, 0, is chosen before."""


@dataclass(slots=True)
class Mouse:
    """Points and clicks."""

    page: Page

    async def press(self, what: Locator) -> None:
        await what.click()

    async def tick(self, what: Locator) -> None:
        await what.check()

    async def type(self, what: Locator, text: str) -> None:
        await what.fill(text)

    async def take(self, what: Locator, option: str, nth: int) -> None:
        del nth
        await what.select_option(option)


@dataclass(slots=True)
class Keys:
    """Touches nothing but Tab, Enter, Space, arrows and letters."""

    page: Page

    async def press(self, what: Locator) -> None:
        await self._go_to(what)
        await self.page.keyboard.press("Enter")

    async def tick(self, what: Locator) -> None:
        await self._go_to(what)
        await self.page.keyboard.press("Space")

    async def type(self, what: Locator, text: str) -> None:
        await self._go_to(what)
        await self.page.keyboard.type(text)

    async def take(self, what: Locator, option: str, nth: int) -> None:
        await self._go_to(what)
        for _ in range(nth):
            await self.page.keyboard.press("ArrowDown")
        assert await what.evaluate("list => list.selectedOptions[0].text") == option

    async def _go_to(self, what: Locator) -> None:
        """Tab forwards until it has the focus. All that is met on the way is seen, marked, and in the page's order."""
        wanted = await what.element_handle()
        for _ in range(_MOST_TABS):
            await self.page.keyboard.press("Tab")
            focused = await self.page.evaluate(_FOCUSED, wanted)
            assert focused["seen"], f"has the focus and is not to be seen: {focused['what']}"
            assert focused["marked"], f"has the focus and does not show it: {focused['what']}"
            assert focused["after"], f"comes before what had the focus: {focused['what']}"
            if focused["wanted"]:
                return
        raise AssertionError(f"not reached by Tab: {what}")
