"""When kills happen, what a seed decides, and what the command says to input that cannot work."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
from intention_kernel.testing.draws import Draws
from intention_kernel.testing.fleet import Fleet

from examples.retail.campaign.kills import Kills
from examples.retail.records import EXTRACT
from tests.static.project import ROOT
from tests.support.eventually import eventually


class CountingFleet:
    """In the place of processes: how many turns had begun at each kill, and what was drawn for it."""

    def __init__(self) -> None:
        self.begun = 0
        self.kills: list[tuple[int, float]] = []

    async def kill_one(self, fraction: float) -> str:
        self.kills.append((self.begun, fraction))
        return "one"


async def _killed(count: int, turns: int, seed: int) -> list[tuple[int, float]]:
    """Begin all turns as fast as they are admitted."""
    fleet, kills = CountingFleet(), Kills(count, turns, Draws(seed))
    killing = asyncio.create_task(kills.run(cast("Fleet", fleet)))
    for _ in range(turns):
        await kills.admit()
        fleet.begun += 1
    await killing
    assert kills.done == count
    return fleet.kills


async def test_kills_are_spread_over_the_turns_and_none_comes_after_the_last() -> None:
    kills = [begun for begun, _ in await _killed(4, 80, seed=3)]
    assert len(kills) == 4
    assert kills == sorted(kills)
    assert kills[0] <= 80 // 4 + 12
    assert kills[-1] < 80, "it met no work"


async def test_turns_wait_for_the_kill_that_belongs_before_them_and_for_none_where_it_cannot_come() -> None:
    kills = Kills(1, 100, Draws(1))
    admitted = 0

    async def begin() -> None:
        nonlocal admitted
        for _ in range(100):
            await kills.admit()
            admitted += 1

    beginning = asyncio.create_task(begin())
    await asyncio.sleep(0)
    await eventually(lambda: admitted > 10)
    assert not beginning.done()

    class NoFleet:
        async def kill_one(self, _: float) -> str:
            raise ConnectionError

    with pytest.raises(ConnectionError):
        await kills.run(cast("Fleet", NoFleet()))
    await beginning
    assert admitted == 100


async def test_one_seed_draws_the_same_victims_again_and_another_seed_others() -> None:
    first, again, other = [[drawn for _, drawn in await _killed(3, 30, seed)] for seed in (1, 1, 2)]
    assert first == again
    assert first != other
    assert all(0 <= drawn < 1 for drawn in first)


def campaign(arguments: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "examples.retail.campaign", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)


def test_help_says_what_it_does_and_lists_the_options() -> None:
    ended = campaign(["--help"])
    assert ended.returncode == 0
    for word in ("--data", "--conversations", "--limit", "--kills", "--shop-faults", "--seed", "Exit code", "JSON"):
        assert word in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--data", "{folder}"], "users.json"),
        (["--conversations", "{folder}/missing.json"], "missing.json"),
        (["--conversations", "{folder}/list.json"], "list.json does not hold conversations"),
        (["--conversations", "{folder}/none.json"], "holds no conversations"),
        (["--conversations", "{folder}/twice.json"], "two conversations with one id"),
        (["--limit", "0"], "--limit"),
        (["--kills", "-1"], "--kills"),
        (["--kills", "many"], "--kills"),
    ],
)
def test_input_that_cannot_work_is_named_before_anything_starts(
    tmp_path: Path, arguments: list[str], named: str
) -> None:
    twice = json.loads((EXTRACT / "conversations.json").read_bytes())[:1] * 2
    for name, content in (("list", [1]), ("none", []), ("twice", twice)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    ended = campaign([argument.format(folder=tmp_path) for argument in arguments])
    assert ended.returncode == 2
    assert named in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not ended.stdout
