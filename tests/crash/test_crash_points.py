"""Every failpoint of the three processes and of the provider: the process dies or pauses there, and nothing is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest
from intention_kernel.failpoints import FAILPOINTS
from intention_kernel.testing.crash_points import (
    PROVIDER_POINT,
    RECONCILER_POINTS,
    RELAY_POINTS,
    RUNNER_POINTS,
    kill_reconciler_at,
    kill_relay_at,
    kill_runner_at,
    kill_runner_while_provider_is_silent,
    lose_record_of_reply,
    pause_runner_at,
)
from intention_kernel.testing.system import Installation

from tests.support.fan7 import APPLICATION, Inventory, running_inventory
from tests.support.servers import SharedServers


@pytest.fixture
def place(servers: SharedServers, fresh_database: str, topic_prefix: str) -> Installation:
    """A migrated database and a topic prefix of this test alone."""
    return Installation(fresh_database, servers.kafka_bootstrap_servers, topic_prefix, APPLICATION)


def at(place: Installation, inventory: Inventory) -> Installation:
    """The installation beside this inventory."""
    return Installation(
        place.database_url, place.kafka_bootstrap_servers, place.topic_prefix, APPLICATION, inventory.environment
    )


def test_every_failpoint_is_in_this_suite() -> None:
    assert {*RUNNER_POINTS, *RELAY_POINTS, *RECONCILER_POINTS, PROVIDER_POINT} == set(FAILPOINTS)


@pytest.mark.parametrize("failpoint", RUNNER_POINTS)
async def test_a_runner_killed_at_a_failpoint_costs_nothing(
    failpoint: str, place: Installation, tmp_path: Path
) -> None:
    """R4, R11, R15, R18: one commit per turn id, one effect per key, whatever the runner was about to do."""
    async with running_inventory(tmp_path) as inventory:
        await kill_runner_at(failpoint, inventory, at(place, inventory))
        assert inventory.stock() == 2


@pytest.mark.parametrize("failpoint", RUNNER_POINTS)
async def test_a_runner_paused_at_a_failpoint_past_its_lease_harms_nothing(
    failpoint: str, place: Installation, tmp_path: Path
) -> None:
    """R1, R3, R4: a zombie neither commits nor starts an effect, and what it answers late is taken for what it is."""
    async with running_inventory(tmp_path) as inventory:
        await pause_runner_at(failpoint, inventory, at(place, inventory))
        assert inventory.stock() == 2


async def test_a_runner_killed_between_the_providers_commit_and_its_reply_costs_nothing(
    place: Installation, tmp_path: Path
) -> None:
    """R22, R29: the receipt stays prepared, becomes uncertain, is found by lookup, and the turn goes on."""
    async with running_inventory(tmp_path, failpoints=f"{PROVIDER_POINT}=stop") as inventory:
        await kill_runner_while_provider_is_silent(inventory, at(place, inventory))
        assert inventory.stock() == 2


async def test_a_reply_that_cannot_be_recorded_leads_to_a_lookup_and_no_second_call(
    place: Installation, tmp_path: Path
) -> None:
    """R14: the next attempt of the turn meets a receipt prepared by another attempt, and calls nobody."""
    async with running_inventory(tmp_path) as inventory:
        await lose_record_of_reply(inventory, at(place, inventory))
        assert inventory.stock() == 2


@pytest.mark.parametrize("failpoint", RELAY_POINTS)
async def test_a_relay_killed_at_a_failpoint_costs_no_event(
    failpoint: str, place: Installation, tmp_path: Path
) -> None:
    """R35, R37: every committed event reaches the topic, in order; repeats have the same sequence and bytes."""
    async with running_inventory(tmp_path) as inventory:
        await kill_relay_at(failpoint, inventory, at(place, inventory))
        assert inventory.stock() == 2


@pytest.mark.parametrize("settled_by", ["lookup", "retry"])
@pytest.mark.parametrize("failpoint", RECONCILER_POINTS)
async def test_a_reconciler_killed_at_a_failpoint_settles_once(
    failpoint: str, settled_by: str, place: Installation, tmp_path: Path
) -> None:
    """R23, R26, R31: one settlement and its continuation, also where the settler died in between."""
    async with running_inventory(tmp_path, settled_by=settled_by) as inventory:
        await kill_reconciler_at(failpoint, inventory, at(place, inventory))
        assert inventory.stock() == 2
