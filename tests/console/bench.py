"""The console over a database of one test, and people who sign in to it as a browser without JavaScript does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any

import httpx
from argon2 import PasswordHasher
from intention_kernel.agent.effect import Absent, Answer, Effect, Lookup, Ports, ReceiptView
from intention_kernel.identity.accounts import Access, add_user
from intention_kernel.identity.passwords import Passwords
from intention_kernel.ports.identity import Scope, User
from intention_kernel.reconciliation.workbench import EffectOf
from receipt_reconciler.web.console.application import console_application
from receipt_reconciler.web.desk import Desk
from receipt_reconciler.web.headers import SafeHeaders
from receipt_reconciler.web.opening import open_desk
from starlette.types import ASGIApp

from tests.reconciliation.bench import AGENT, Ledger, effect, ledger

PASSWORD = "correct horse battery"
ROLES = ("viewer", "operator", "approver", "admin")
ORIGIN = "http://console.test"


@dataclass(slots=True)
class Page:
    """A response, read as a browser without JavaScript reads it."""

    status: int
    url: str
    text: str
    headers: httpx.Headers
    browser: Browser

    @property
    def words(self) -> str:
        """What is written on it, in one line."""
        return _words(self.text)

    @property
    def inline(self) -> list[str]:
        """Styles, scripts, handlers and addresses of scripts in the page itself."""
        return _read(self.text).inline

    @property
    def elements(self) -> list[tuple[str, dict[str, str]]]:
        """Every element with its attributes, in order."""
        return _read(self.text).elements

    def form(self, action: str) -> Mapping[str, str]:
        """The fields of the form with that action, as they are filled in."""
        forms = [form for form in _forms(self.text) if form.action == action]
        assert forms, f"no form sends to {action}: {[form.action for form in _forms(self.text)]}"
        return forms[0].fields

    def has_form(self, action: str) -> bool:
        """Whether there is such a form."""
        return any(form.action == action for form in _forms(self.text))

    async def send(self, action: str, **typed: str) -> Page:
        """Fill in that form, send it, and follow where it leads."""
        return await self.browser.post(action, {**self.form(action), **typed})


@dataclass(slots=True)
class Browser:
    """One person's. Every form says that it comes from the same origin."""

    client: httpx.AsyncClient

    async def get(self, path: str) -> Page:
        return self._page(await self.client.get(path, follow_redirects=True))

    async def post(self, path: str, form: Mapping[str, Any], **more: Any) -> Page:
        headers = {"Sec-Fetch-Site": "same-origin"}
        return self._page(await self.client.post(path, data=form, headers=headers, follow_redirects=True, **more))

    async def sign_in(self, name: str, password: str = PASSWORD) -> Page:
        page = await self.get("/login")
        return await page.send("/login", name=name, password=password)

    def _page(self, response: httpx.Response) -> Page:
        return Page(response.status_code, str(response.url), response.text, response.headers, self)


@dataclass(slots=True)
class Console:
    """One test's console. Users are called as their role is."""

    db: Ledger
    desk: Desk
    app: ASGIApp
    passwords: Passwords
    _browsers: list[httpx.AsyncClient] = field(default_factory=list)

    def stranger(self) -> Browser:
        """A browser of nobody's."""
        client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=ORIGIN)
        self._browsers.append(client)
        return Browser(client)

    async def signed_in(self, name: str) -> Browser:
        """A browser of somebody who has signed in."""
        browser = self.stranger()
        page = await browser.sign_in(name)
        assert page.status == 200, page.words
        return browser

    async def user(self, name: str, *roles: str, scope: Scope | None = None) -> User:
        """Somebody more."""
        access = Access(roles, scope or Scope())
        user = await add_user(self.desk.identity, self.passwords, name, access, PASSWORD, "test")
        assert isinstance(user, User), user
        return user

    def read_only(self) -> Console:
        """The same, and nothing may be changed."""
        desk = replace(self.desk, read_only=True)
        return Console(self.db, desk, _served(desk, self.passwords), self.passwords, self._browsers)

    def served(self, *, secure: bool) -> Console:
        """The same, with cookies for TLS only, or not."""
        app = _served(self.desk, self.passwords, secure=secure)
        return Console(self.db, self.desk, app, self.passwords, self._browsers)

    async def close(self) -> None:
        for browser in self._browsers:
            await browser.aclose()


@asynccontextmanager
async def console(url: str, *effects: Effect) -> AsyncIterator[Console]:
    """A console with a user for each role; `effects` are what the application declares, none: the one of `bench`."""
    known = {one.id: one for one in effects or (effect(Lookup(_absent)),)}
    effect_of: EffectOf = lambda agent, effect_id: known.get(effect_id) if agent == AGENT else None  # noqa: E731
    passwords = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    stop = asyncio.Event()
    async with ledger(url) as db, open_desk(url, effect_of, stop, pool_size=2) as desk:
        made = Console(db, desk, _served(desk, passwords), passwords)
        for role in ROLES:
            await made.user(role, role)
        try:
            yield made
        finally:
            stop.set()
            await made.close()
            passwords.close()


def _served(desk: Desk, passwords: Passwords, *, secure: bool = False) -> ASGIApp:
    return SafeHeaders(console_application(desk, passwords, secure=secure))


async def _absent(_: ReceiptView, __: Ports) -> Answer:
    return Absent()


@dataclass(slots=True)
class _Form:
    action: str
    fields: dict[str, str] = field(default_factory=dict)


class _Reader(HTMLParser):
    """Forms with the values that a browser would send, and the words between tags."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[_Form] = []
        self.words: list[str] = []
        self.inline: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self._form: _Form | None = None
        self._area: str | None = None
        self._select: str | None = None

    def handle_starttag(self, tag: str, given: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in given}
        name = attributes.get("name", "")
        self.elements.append((tag, attributes))
        self.inline += [f"{tag} {one}" for one in attributes if one == "style" or one.startswith("on")]
        if tag == "style" or (tag == "script" and not attributes.get("src", "").startswith("/static/")):
            self.inline.append(tag)
        if attributes.get("href", "").lower().startswith("javascript:"):
            self.inline.append(f"{tag} {attributes['href']}")
        if tag == "form":
            self._form = _Form(attributes.get("action", ""))
            self.forms.append(self._form)
        elif self._form is None:
            return
        elif tag == "input" and name:
            is_box = attributes.get("type") in ("checkbox", "radio")
            if not is_box or "checked" in attributes:
                self._form.fields[name] = attributes.get("value", "on" if is_box else "")
        elif tag == "textarea":
            self._area = name
            self._form.fields[name] = ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select is not None:
            self._option(attributes)

    def _option(self, attributes: Mapping[str, str]) -> None:
        """What is selected, else the first."""
        if self._form is None or self._select is None or "value" not in attributes:
            return
        if self._select not in self._form.fields or "selected" in attributes:
            self._form.fields[self._select] = attributes["value"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "textarea":
            self._area = None
        elif tag == "select":
            self._select = None

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self._form is not None and self._area is not None:
            self._form.fields[self._area] += data


def _read(text: str) -> _Reader:
    reader = _Reader()
    reader.feed(text)
    return reader


def _forms(text: str) -> list[_Form]:
    return _read(text).forms


def _words(text: str) -> str:
    return re.sub(r"\s+", " ", " ".join(_read(text).words)).strip()
