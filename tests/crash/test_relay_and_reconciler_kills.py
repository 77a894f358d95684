"""The outbox-relay and the receipt-reconciler die at each of their failpoints: no event is lost, nothing is settled twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from intention_kernel.failpoints import FAILPOINTS
from intention_kernel.testing.crash_points import (
    PROVIDER_POINT,
    RECONCILER_POINTS,
    RELAY_POINTS,
    RESOLUTION_POINT,
    RUNNER_POINTS,
    kill_reconciler_at,
    kill_relay_at,
)
from intention_kernel.testing.system import Installation

from tests.support.fan7 import running_inventory


def test_the_crash_suite_covers_every_failpoint() -> None:
    """The one of decisions from Kafka is in tests/resolutions."""
    covered = {*RUNNER_POINTS, *RELAY_POINTS, *RECONCILER_POINTS, PROVIDER_POINT, RESOLUTION_POINT}
    assert covered == set(FAILPOINTS)


@pytest.mark.parametrize("failpoint", RELAY_POINTS)
async def test_a_relay_killed_at_a_failpoint_costs_no_event(
    failpoint: str, place: Installation, tmp_path: Path
) -> None:
    """R35, R37: every committed event reaches the topic, in order; repeats have the same sequence and bytes."""
    async with running_inventory(tmp_path) as inventory:
        await kill_relay_at(failpoint, inventory, inventory.beside(place))
        assert inventory.stock() == 2


@pytest.mark.parametrize("settled_by", ["lookup", "retry"])
@pytest.mark.parametrize("failpoint", RECONCILER_POINTS)
async def test_a_reconciler_killed_at_a_failpoint_settles_once(
    failpoint: str, settled_by: str, place: Installation, tmp_path: Path
) -> None:
    """R23, R26, R31: one settlement and its continuation, also where the settler died in between."""
    async with running_inventory(tmp_path, settled_by=settled_by) as inventory:
        await kill_reconciler_at(failpoint, inventory, inventory.beside(place), repeats=settled_by == "retry")
        assert inventory.stock() == 2
