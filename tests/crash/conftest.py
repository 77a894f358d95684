"""FAN-7 over a database and topics of each test's own."""

from __future__ import annotations

import pytest
from intention_kernel.testing.system import Installation

from tests.support.fan7 import installation_of
from tests.support.servers import SharedServers


@pytest.fixture
async def place(servers: SharedServers, fresh_database: str, topic_prefix: str) -> Installation:
    """A migrated database and a topic prefix of this test alone."""
    return installation_of(servers, fresh_database, topic_prefix)
