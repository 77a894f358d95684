"""Fault campaigns that kill or fill servers, at their short counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaigns.ground import opened_ground
from tests.campaigns.short import names, run


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", names(own_servers=True))
async def test_a_campaign_against_servers_ends_well(name: str, tmp_path: Path) -> None:
    """Promises 1 to 5 while Postgres or Kafka itself fails."""
    async with opened_ground(tmp_path, own=True) as ground:
        await run(name, ground, tmp_path)


@pytest.fixture(autouse=True)
def _enterable(tmp_path: Path) -> None:
    """Postgres may run as another user."""
    tmp_path.chmod(0o755)
