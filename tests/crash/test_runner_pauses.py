"""The turn-runner is paused at each of its failpoints until another has done its work, and goes on as a zombie."""

from __future__ import annotations

from pathlib import Path

import pytest
from intention_kernel.testing.crash_points import RUNNER_POINTS, overtake_runner_at, pause_runner_at
from intention_kernel.testing.system import Installation

from tests.support.fan7 import running_inventory


@pytest.mark.parametrize("failpoint", RUNNER_POINTS)
async def test_a_runner_paused_at_a_failpoint_past_its_lease_harms_nothing(
    failpoint: str, place: Installation, tmp_path: Path
) -> None:
    """R1, R3, R4, R25: a zombie neither commits nor prepares, and what it answers late is taken for what it is."""
    async with running_inventory(tmp_path) as inventory:
        await pause_runner_at(failpoint, inventory, inventory.beside(place))
        assert inventory.stock() == 2


@pytest.mark.parametrize("failpoint", ["runner.after_begin", "runner.before_commit"])
async def test_a_runner_that_goes_on_while_another_has_its_turn_harms_nothing(
    failpoint: str, place: Installation, tmp_path: Path
) -> None:
    """R3, R5: it prepares nothing and commits nothing, although no outcome of the other stands in its way."""
    async with running_inventory(tmp_path) as inventory:
        await overtake_runner_at(failpoint, inventory, inventory.beside(place))
        assert inventory.stock() == 2
