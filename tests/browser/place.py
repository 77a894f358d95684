"""FAN-7 in its real processes with the console served, people who may sign in, and a browser."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from argon2 import PasswordHasher
from intention_kernel.client import Client, Committed
from intention_kernel.contracts.turn_request import TurnRequest
from intention_kernel.identity.accounts import Access, add_user
from intention_kernel.identity.passwords import Passwords
from intention_kernel.ids import random_id, receipt_id
from intention_kernel.ports.identity import Scope, User
from intention_kernel.postgres.identity import open_identity
from intention_kernel.testing.processes import Process
from intention_kernel.testing.system import System, open_system
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, WebError, expect

from tests.browser.chromium import open_browser
from tests.support.fan7 import RESERVATION_KEYS, Inventory, installation_of, request, running_inventory
from tests.support.servers import SharedServers, create_database, drop_database

PASSWORD = "correct horse battery"
PEOPLE = {"ana": "operator", "ben": "operator", "cleo": "approver", "dora": "admin"}
PATIENCE_SECONDS = 30.0

# What the browser itself prints about an answer that refuses something on purpose.
_REFUSED = re.compile(r"Failed to load resource: the server responded with a status of (400|401|403|404|409|422)")
_LOST = re.compile(r"net::ERR_(CONNECTION_\w+|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|NETWORK_CHANGED)")
_TELL_VIOLATIONS = (
    "addEventListener('securitypolicyviolation', event =>"
    " console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))"
)
_ITEM_IS = (
    "select from reconciliation_items join receipts using (thread_id, effect_key) where receipt_id = $1 and phase = $2"
)


@dataclass
class Troubles:
    """What went wrong in a browser's pages: errors of scripts, violations of the policy, dialogs, and errors printed."""

    seen: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        """Every page of it, from now on."""
        context.on("console", self._printed)
        context.on("weberror", self._failed)
        context.on("dialog", self._dialog)

    def _printed(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not _REFUSED.match(message.text):
            self.seen.append(message.text)

    def _failed(self, error: WebError) -> None:
        self.seen.append(str(error.error))

    async def _dialog(self, dialog: Dialog) -> None:
        self.seen.append(f"a dialog: {dialog.message}")
        await dialog.dismiss()


@dataclass(slots=True)
class Place:
    """One module's."""

    system: System
    client: Client
    inventory: Inventory
    console: Process
    url: str
    browser: Browser
    _sessions: dict[str, str] = field(default_factory=dict)

    async def say(self, asked: TurnRequest) -> dict[str, Any]:
        """Send a turn and wait: the data of its `turn.completed`."""
        async with self.client.sending(asked) as waiting:
            outcome = await waiting.outcome(PATIENCE_SECONDS)
        assert isinstance(outcome, Committed), outcome
        assert isinstance(outcome.result, dict)
        return outcome.result

    async def uncertain(self, thread_id: str, settled_by: str = "operator", turn_id: str = "reserve-two") -> str:
        """A reservation whose answer got lost, and which waits in the queue; its receipt's id."""
        await self.inventory.lose_next_reply()
        result = await self.say(request(thread_id, turn_id, "reserve 2 FILTER-A for FAN-7", settled_by))
        made = receipt_id(thread_id, RESERVATION_KEYS[settled_by])
        assert result["blockedOn"] == [made]
        await self.await_item(made, "open")
        return made

    async def await_item(self, receipt: str, phase: str) -> None:
        """Returns once the receipt's item of the queue stands there."""
        await self.system.await_rows(_ITEM_IS, receipt, phase)

    async def reservation(self, settled_by: str = "operator") -> dict[str, str]:
        """What the inventory has: the value to type in, member by member."""
        found = await self.inventory.client.find_reservation(RESERVATION_KEYS[settled_by])
        assert found is not None
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in found.items()}

    async def decisions(self, receipt: str) -> list[tuple[str, str]]:
        """Who decided what, the oldest first."""
        rows = await self.system.fetch(
            "select actor, resolution from decisions join receipts using (thread_id, effect_key)"
            " where receipt_id = $1 order by settlement",
            receipt,
        )
        return [(row["actor"], row["resolution"]) for row in rows]

    async def audit(self, receipt: str) -> list[tuple[str, str]]:
        """The receipt's audit lines: who did what, the oldest first."""
        rows = await self.system.fetch(
            "select actor, action from audit_log join receipts using (thread_id, effect_key)"
            " where receipt_id = $1 order by id",
            receipt,
        )
        return [(row["actor"], row["action"]) for row in rows]

    @asynccontextmanager
    async def page(
        self, name: str | None = None, *, url: str | None = None, is_interrupted: bool = False, **options: Any
    ) -> AsyncIterator[Page]:
        """A browser's window of its own, of somebody who has signed in; None: of nobody.

        At the end nothing may have gone wrong in it, but for lost connections where it `is_interrupted`.
        """
        url, troubles = url or self.url, Troubles()
        context = await self.browser.new_context(
            base_url=url, **{"color_scheme": "light", "reduced_motion": "reduce", **options}
        )
        try:
            troubles.watch(context)
            await context.add_init_script(_TELL_VIOLATIONS)
            if name is not None:
                await context.add_cookies([{"name": "intention", "value": await self.session(name), "url": url}])
            page = await context.new_page()
            page.set_default_timeout(PATIENCE_SECONDS * 1000)
            yield page
            assert [seen for seen in troubles.seen if not (is_interrupted and _LOST.search(seen))] == []
        finally:
            await context.close()

    async def post(self, name: str, path: str, form: dict[str, str]) -> None:
        """A form of somebody's, past the browser; it has to be done."""
        cookies = {"intention": await self.session(name)}
        async with httpx.AsyncClient(base_url=self.url, cookies=cookies, trust_env=False) as client:
            answer = await client.post(path, data=form, headers={"Sec-Fetch-Site": "same-origin"})
            assert answer.status_code in (200, 303), answer.text

    async def session(self, name: str) -> str:
        """The cookie of somebody's sign-in, which every window of theirs may share."""
        if name not in self._sessions:
            async with httpx.AsyncClient(base_url=self.url, trust_env=False) as client:
                form = {"name": name, "password": PASSWORD}
                answer = await client.post("/login", data=form, headers={"Sec-Fetch-Site": "same-origin"})
                assert answer.status_code == 303, answer.text
                self._sessions[name] = answer.cookies["intention"]
        return self._sessions[name]


async def console_url(reconciler: Process) -> str:
    """Where a receipt-reconciler serves its console, once it does."""
    found = re.search(r"console=(\d+)", await reconciler.await_ready())
    assert found is not None
    return f"http://127.0.0.1:{found[1]}"


@asynccontextmanager
async def open_place(servers: SharedServers, directory: Path, *, failpoints: str = "") -> AsyncIterator[Place]:
    """A database and a topic prefix of its own; `failpoints` are the inventory's."""
    name, prefix = f"test_{random_id().hex[:16]}", f"test-{random_id().hex[:12]}."
    database = await create_database(servers, name, template=servers.template)
    try:
        async with AsyncExitStack() as stack:
            inventory = await stack.enter_async_context(running_inventory(directory, failpoints=failpoints))
            installation = inventory.beside(installation_of(servers, database, prefix))
            system = await stack.enter_async_context(open_system(installation))
            runner, relay, reconciler = (
                await system.start_runner(),
                await system.start_relay(),
                await system.start_reconciler(console_port=0),
            )
            await add_people(database)
            browser = await stack.enter_async_context(open_browser())
            client = await stack.enter_async_context(
                Client(installation.kafka_bootstrap_servers, installation.topic_prefix)
            )
            await runner.await_ready()
            await relay.await_ready()
            yield Place(system, client, inventory, reconciler, await console_url(reconciler), browser)
    finally:
        await drop_database(servers, name)


async def add_people(database_url: str) -> None:
    """PEOPLE, each with PASSWORD."""
    passwords = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    try:
        async with open_identity(database_url) as identity:
            for name, role in PEOPLE.items():
                made = await add_user(identity, passwords, name, Access((role,), Scope()), PASSWORD, "test")
                assert isinstance(made, User), made
    finally:
        passwords.close()


async def shows(page: Page, *texts: str) -> None:
    """Wait until its content has all of these."""
    for text in texts:
        await expect(page.locator("#main")).to_contain_text(text)


async def scripts_run(page: Page) -> None:
    """Wait until its scripts have: only then do keys do anything."""
    await expect(page.locator("[data-keys]")).to_be_visible()
