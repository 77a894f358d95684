"""Fault campaigns at their short counts: the histories are well, and the faults really happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaigns.ground import Ground
from tests.campaigns.short import names, run
from tests.support.servers import SharedServers


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", names(own_servers=False))
async def test_a_campaign_ends_well(name: str, servers: SharedServers, tmp_path: Path) -> None:
    """Promises 1 to 5 under this fault, on the run's servers."""
    await run(name, Ground(servers, tmp_path), tmp_path)
