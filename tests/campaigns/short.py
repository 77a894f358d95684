"""A campaign at its short count, in a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from intention_kernel.history.saved import save_history
from intention_kernel.history.values import History

from tests.campaigns.campaign import Plan
from tests.campaigns.catalogue import CAMPAIGNS
from tests.campaigns.ground import Ground

SEED = 7


def names(*, own_servers: bool) -> list[str]:
    """The campaigns of `make test`. Of those with a short count of 0 the crash suite is the short version (tests/crash)."""
    return [name for name, one in CAMPAIGNS.items() if one.short and one.own_servers == own_servers]


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
