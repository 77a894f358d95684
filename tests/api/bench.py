"""The API over a database of one test, asked as its callers ask it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from intention_kernel.agent.effect import Effect, Manual
from intention_kernel.identity.secrets import new_token_secret
from intention_kernel.ids import random_id
from intention_kernel.ports.identity import NewToken, NewUser, Permission, Scope, Token, User
from receipt_reconciler.web.api.application import api_application
from receipt_reconciler.web.api.callers import Rates
from receipt_reconciler.web.desk import Desk
from receipt_reconciler.web.headers import SafeHeaders
from receipt_reconciler.web.opening import open_desk

from tests.reconciliation.bench import AGENT, EFFECT_ID, Ledger, effect, ledger

VALUE = {"charge": "ch-9"}
APPLIED = {"resolution": "applied", "reason": "seen at the provider", "value": VALUE, "reference": "p-1"}
OTHER_EFFECT = "shop.mail"


@dataclass(slots=True)
class Caller:
    """Somebody with a token."""

    http: httpx.AsyncClient
    secret: str
    token_id: str = ""

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self._ask("GET", path, **more)

    async def post(self, path: str, body: Any = None, *, key: str | None = "", **more: Any) -> httpx.Response:
        """With an Idempotency-Key of its own, unless it is given; None: without one."""
        headers = dict(more.pop("headers", {}))
        if key is not None:
            headers["Idempotency-Key"] = key or random_id().hex
        return await self._ask("POST", path, json={} if body is None else body, headers=headers, **more)

    async def put(self, path: str, body: Any) -> httpx.Response:
        return await self._ask("PUT", path, json=body)

    async def delete(self, path: str) -> httpx.Response:
        return await self._ask("DELETE", path)

    async def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.secret}"} | dict(more.pop("headers", {}))
        return await self.http.request(method, path, headers=headers, **more)

    async def decide(self, receipt: str, version: int, *, key: str = "", **members: Any) -> httpx.Response:
        """A decision about that version: applied, where nothing else is said."""
        headers = {"If-Match": f'"r{version}"'}
        return await self.post(f"/v1/receipts/{receipt}/decisions", APPLIED | members, key=key, headers=headers)


@dataclass(slots=True)
class Api:
    """One test's."""

    db: Ledger
    desk: Desk
    http: httpx.AsyncClient

    async def caller(
        self,
        name: str = "ana",
        *,
        role: str = "admin",
        scope: Scope | None = None,
        permissions: Iterable[Permission] | None = None,
        seconds: float = 3_600.0,
    ) -> Caller:
        """A user of that role, made where there is none, with a token that allows at most these permissions."""
        made = await self.desk.identity.add_user(NewUser(name, (role,), scope or Scope(), None), "test")
        assert isinstance(made, User) or scope is None
        secret = new_token_secret()
        new = NewToken(
            token_id=random_id().hex,
            user=name,
            label="test",
            prefix=secret.prefix,
            secret_hash=secret.secret_hash,
            permissions=None if permissions is None else frozenset(permissions),
            seconds=seconds,
        )
        issued = await self.desk.identity.issue_token(new, "test")
        assert isinstance(issued, Token)
        return Caller(self.http, secret.secret, new.token_id)

    async def uncertain(self, thread_id: str = "t", key: str = f"{EFFECT_ID}:1", **more: Any) -> str:
        """A receipt that waits for a person, with its item; its id."""
        made = await self.db.uncertain(thread_id, key, **more)
        await self.db.receipts.scan(100)
        return made

    async def version(self, receipt_id: str) -> int:
        """The receipt's now."""
        version: int = (await self.db.receipt(receipt_id))["version"]
        return version

    async def lines(self, action: str) -> list[Any]:
        """The audit lines of that action, the oldest first."""
        return [line for line in await self.db.all("audit_log") if line["action"] == action]


def known(agent_id: str, effect_id: str) -> Effect | None:
    """What the application under test declares."""
    return effect(Manual(), effect_id) if agent_id == AGENT and effect_id in (EFFECT_ID, OTHER_EFFECT) else None


@asynccontextmanager
async def api(
    url: str, *, read_only: bool = False, rates: Rates | None = None, stopping: asyncio.Event | None = None
) -> AsyncIterator[Api]:
    """The application without a socket; what it raises is answered as it is to callers."""
    async with (
        ledger(url) as db,
        open_desk(url, known, stopping or asyncio.Event(), pool_size=4, read_only=read_only) as desk,
    ):
        app = SafeHeaders(api_application(desk, rates))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
            yield Api(db, desk, http)


def problem(response: httpx.Response) -> dict[str, Any]:
    """The problem that a response is."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    document: dict[str, Any] = response.json()
    assert document["status"] == response.status_code
    assert document["type"] == f"urn:intention-kernel:problem:{document['code']}"
    return document


def code(response: httpx.Response) -> tuple[int, str]:
    """Its status and its problem's code."""
    return response.status_code, problem(response)["code"]
