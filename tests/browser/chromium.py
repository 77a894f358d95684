"""The machine's own Chromium. Where there is none, what needs it is skipped, and the summary says what is left out."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, async_playwright

VARIABLE = "INTENTION_TEST_BROWSER"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = ("--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--no-first-run")
_MISSING = (
    "no browser, so the console's journeys, races, accessibility, narrow screens and hostile texts are not tried: "
    f"install the package chromium, or name a Chromium's or Chrome's file in {VARIABLE}"
)


def browser_path() -> str | None:
    """The browser that `INTENTION_TEST_BROWSER` names, else the first that is installed."""
    return os.environ.get(VARIABLE) or next((path for name in _NAMES if (path := shutil.which(name))), None)


def require_browser() -> None:
    """Called as a module of tests begins: without a browser it is skipped as a whole, in one line of the summary."""
    if browser_path() is None:
        pytest.skip(_MISSING, allow_module_level=True)


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    """Headless; it ends with the context."""
    # Its sandbox does not work for root, and nothing but our own pages is opened.
    flags = [*_FLAGS, "--no-sandbox"] if os.geteuid() == 0 else [*_FLAGS]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path(), args=flags)
        try:
            yield browser
        finally:
            await browser.close()
