"""Failpoints are named in one place and act once, where they are told to."""

from __future__ import annotations

import asyncio

import pytest
from intention_kernel.errors import ConfigurationError, InfrastructureError
from intention_kernel.failpoints import FAILPOINTS, Failpoints


async def test_an_unarmed_failpoint_does_nothing() -> None:
    for name in FAILPOINTS:
        await Failpoints("").reach(name)


async def test_it_acts_on_the_pass_that_it_is_told_and_on_no_other() -> None:
    armed = Failpoints("runner.after_begin=error@2")
    await armed.reach("runner.after_begin")
    with pytest.raises(InfrastructureError, match=r"runner\.after_begin"):
        await armed.reach("runner.after_begin")
    await armed.reach("runner.after_begin")


async def test_several_are_armed_side_by_side() -> None:
    armed = Failpoints("runner.after_begin=sleep:0, relay.after_ack=error")
    await armed.reach("runner.after_begin")
    with pytest.raises(InfrastructureError):
        await armed.reach("relay.after_ack")


async def test_a_sleeping_failpoint_lets_the_loop_go_on() -> None:
    armed = Failpoints("runner.before_send=sleep:0.05")
    waiting = asyncio.create_task(armed.reach("runner.before_send"))
    await asyncio.sleep(0)
    assert not waiting.done()
    await waiting


@pytest.mark.parametrize(
    "setting",
    [
        "nobody=kill",
        "runner.after_begin=explode",
        "runner.after_begin=sleep",
        "runner.after_begin=sleep:x",
        "runner.after_begin=kill@x",
        "runner.after_begin=kill@0",
        "runner.after_begin",
    ],
)
def test_a_setting_that_means_nothing_is_refused(setting: str) -> None:
    with pytest.raises(ConfigurationError, match="INTENTION_FAILPOINTS"):
        Failpoints(setting)


def test_every_problem_is_listed() -> None:
    with pytest.raises(ConfigurationError) as refused:
        Failpoints("nobody=kill,runner.after_begin=explode")
    assert len(refused.value.problems) == 2
