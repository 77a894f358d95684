"""One running system and one browser for each module."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.browser.place import Place, open_place
from tests.support.servers import SharedServers


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(
    servers: SharedServers, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> AsyncIterator[Place]:
    """Its tests keep to threads of their own. A module's `FAILPOINTS` are its inventory's."""
    failpoints: str = getattr(request.module, "FAILPOINTS", "")
    async with open_place(servers, tmp_path_factory.mktemp("inventory"), failpoints=failpoints) as opened:
        yield opened
