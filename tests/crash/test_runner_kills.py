"""The turn-runner dies at each of its failpoints, and around a provider's reply: nothing is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest
from intention_kernel.testing.crash_points import (
    PROVIDER_POINT,
    RUNNER_POINTS,
    kill_runner_at,
    kill_runner_while_provider_is_silent,
    lose_record_of_reply,
)
from intention_kernel.testing.system import Installation

from tests.support.fan7 import running_inventory


@pytest.mark.parametrize("failpoint", RUNNER_POINTS)
async def test_a_runner_killed_at_a_failpoint_costs_nothing(
    failpoint: str, place: Installation, tmp_path: Path
) -> None:
    """R4, R11, R15, R18: one commit per turn id, one call and one effect per key, whatever it was about to do."""
    async with running_inventory(tmp_path) as inventory:
        await kill_runner_at(failpoint, inventory, inventory.beside(place))
        assert inventory.stock() == 2


async def test_a_runner_killed_between_the_providers_commit_and_its_reply_costs_nothing(
    place: Installation, tmp_path: Path
) -> None:
    """R22, R29: the receipt stays prepared, becomes uncertain, is found by lookup, and the turn goes on."""
    async with running_inventory(tmp_path, failpoints=f"{PROVIDER_POINT}=stop") as inventory:
        await kill_runner_while_provider_is_silent(inventory, inventory.beside(place))
        assert inventory.stock() == 2


async def test_a_reply_that_cannot_be_recorded_leads_to_a_lookup_and_no_second_call(
    place: Installation, tmp_path: Path
) -> None:
    """R14: the next attempt of the turn meets a receipt prepared by another attempt, and calls nobody."""
    async with running_inventory(tmp_path) as inventory:
        await lose_record_of_reply(inventory, inventory.beside(place))
        assert inventory.stock() == 2
