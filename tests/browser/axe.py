"""What axe-core says of a page, as it is in its browser."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from playwright.async_api import Page

_ALL = "axe.run({ resultTypes: ['violations'] })"
_COLOURS = "axe.run({ resultTypes: ['violations'], runOnly: ['color-contrast'] })"


async def complaints(page: Page, *, only_colours: bool = False) -> list[str]:
    """A line for each element that breaks a rule: of WCAG's, A to AA, or good practice. Nothing is left out."""
    await page.evaluate(_source())
    found: dict[str, Any] = await page.evaluate(_COLOURS if only_colours else _ALL)
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:300]} {node.get('failureSummary', '')}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


@cache
def _source() -> str:
    # Evaluated by the browser's own door: a script tag is what the page's policy forbids.
    return (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
