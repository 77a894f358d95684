"""Every fault campaign at its short count: the histories are well, and the faults really happened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from intention_kernel.history.saved import save_history
from intention_kernel.history.values import History

from tests.campaigns.campaign import Plan
from tests.campaigns.catalogue import CAMPAIGNS
from tests.campaigns.ground import Ground, opened_ground
from tests.support.servers import SharedServers

SEED = 7


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", [name for name, campaign in CAMPAIGNS.items() if not campaign.own_servers])
async def test_a_campaign_ends_well(name: str, servers: SharedServers, tmp_path: Path) -> None:
    """Promises 1 to 5 under this fault, on the run's servers."""
    await run(name, Ground(servers, tmp_path), tmp_path)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", [name for name, campaign in CAMPAIGNS.items() if campaign.own_servers])
async def test_a_campaign_against_servers_ends_well(name: str, tmp_path: Path) -> None:
    """Promises 1 to 5 while Postgres or Kafka itself fails."""
    async with opened_ground(tmp_path, own=True) as ground:
        await run(name, ground, tmp_path)


@pytest.fixture(autouse=True)
def _enterable(tmp_path: Path) -> None:
    """Postgres may run as another user."""
    tmp_path.chmod(0o755)


async def run(name: str, ground: Ground, scratch: Path) -> None:
    """The short count; what is wrong is in the assertion."""
    campaign = CAMPAIGNS[name]
    result = await campaign.run(Plan(SEED, campaign.short, ground, print, kept_in(scratch / "history.jsonl")))
    wrong = [str(finding) for finding in result.findings] + list(result.problems)
    assert not wrong, "\n".join(wrong)


def kept_in(path: Path) -> Callable[[History], None]:
    """Where the history is, for who looks into a failure."""

    def keep(history: History) -> None:
        save_history(history, path)
        print(f"the history is kept in {path}")

    return keep
