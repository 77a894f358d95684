"""One query gives the same receipts in the same order in the console, the API and on the command line."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal

import asyncpg
import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from intention_kernel.identity.secrets import new_token_secret
from intention_kernel.ports.identity import NewToken, Token
from intention_kernel.ports.queue_filter import Filter
from intention_kernel.reconciliation.filtering import text_of
from receipt_reconciler.web.api.application import api_application

from tests.cli.invoking import environment, intention
from tests.console.bench import Browser, console
from tests.reconciliation.test_listing import FILL
from tests.support.queue_filters import filters

READER = "operator"
_ROWS = 45
"""One page holds them all: pages after the first have tests of their own."""
_WORDS = st.sampled_from(
    ["stripe", "adyen", "ana", "t-1", "t-7", "EUR", "pay", "mail", "order 7", "ORDER", "Ü", "%", '"']
)
# Times of the rows are half an hour from any whole hour, so that no bound lies between two of the three looks.
_HOURS = st.integers(0, 60).map(lambda hours: Decimal(hours * 3_600))
_ROW = re.compile(r'data-receipt="([0-9a-f]+)"')


@dataclass(frozen=True, slots=True)
class Doors:
    """The three, over one database; None: the query is refused, as it is where what is done is asked for in general."""

    browser: Browser
    api: httpx.AsyncClient
    variables: dict[str, str]

    async def by_console(self, query: str) -> list[str] | None:
        page = await self.browser.get(str(httpx.URL("/queue", params={"q": query})))
        assert page.status in (200, 400), page.words
        return None if page.status == 400 else _ROW.findall(page.text)

    async def by_api(self, query: str) -> list[str] | None:
        answer = await self.api.get("/v1/receipts", params={"q": query, "limit": 50})
        assert answer.status_code in (200, 422), answer.text
        return None if answer.status_code == 422 else [item["receiptId"] for item in answer.json()["items"]]

    async def by_command(self, query: str) -> list[str] | None:
        arguments = ("queue", "ls", "-o", "ids", "--as", READER, "--", query)
        said = await asyncio.to_thread(intention, *arguments, env=self.variables)
        assert said.code in (0, 2), said.err
        return None if said.code == 2 else said.lines


@asynccontextmanager
async def opened(database_url: str) -> AsyncIterator[Doors]:
    """An operator's browser and token; the command line says who it is."""
    async with console(database_url) as made:
        connection = await asyncpg.connect(database_url)
        await connection.execute(FILL.format(rows=_ROWS))
        await connection.close()
        secret = new_token_secret()
        new = NewToken("t1", READER, "test", secret.prefix, secret.secret_hash, None, 3_600.0)
        assert isinstance(await made.desk.identity.issue_token(new, "test"), Token)
        transport = httpx.ASGITransport(api_application(made.desk))
        headers = {"Authorization": f"Bearer {secret.secret}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://api.test", headers=headers) as api:
            yield Doors(await made.signed_in(READER), api, environment(database_url))


def test_one_query_gives_the_same_receipts_in_the_console_the_api_and_on_the_command_line(fresh_database: str) -> None:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        doors = runner.run(stack.enter_async_context(opened(fresh_database)))
        sizes: set[int] = set()

        @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(filters(_WORDS, _HOURS))
        def check(query: Filter) -> None:
            text = text_of(query)
            listed = runner.run(doors.by_console(text))
            assert runner.run(doors.by_api(text)) == listed, text
            assert runner.run(doors.by_command(text)) == listed, text
            sizes.add(-1 if listed is None else len(listed))

        try:
            check()
            assert len(sizes) > 2, sizes
        finally:
            runner.run(stack.aclose())
