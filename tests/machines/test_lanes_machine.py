"""A state machine of lanes and offsets: the runner's real consumer, several times, against lists of records and their outcomes.

Kafka's group, the database's progress and the handlers are the machine's; poll, dispatch, lanes, epochs, commits, admission and
their timers are the real ones in virtual time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from intention_kernel.errors import InfrastructureError
from turn_runner.outcomes import Again, Done, Outcome, RunAlone

from tests.machines.consumer_world import LIMITS, PARTITIONS, Fault, Member, Process, Running, World

PICK = st.integers(min_value=0, max_value=1_000)
KEYS = {0: (b"a", b"b", None), 1: (b"c", b"d", None)}
MOMENT_SECONDS = 0.05
REST_SECONDS = 60.0

Ending = tuple[bool, Callable[[asyncio.Future[Outcome]], None]]
ENDINGS: dict[str, Ending] = {
    "done": (True, lambda answer: answer.set_result(Done())),
    "done, and nobody heard it": (True, lambda answer: answer.set_exception(InfrastructureError("reply lost"))),
    "busy": (False, lambda answer: answer.set_result(Again(0.1, "busy"))),
    "held": (False, lambda answer: answer.set_result(Again(2.0, "held"))),
    "alone": (False, lambda answer: answer.set_result(RunAlone())),
    "away": (False, lambda answer: answer.set_exception(InfrastructureError("no database"))),
    "bug": (False, lambda answer: answer.set_exception(LookupError("a bug"))),
}
FAULTS: tuple[Fault, ...] = ("database away", "group away", "answer lost")


class LanesMachine(RuleBasedStateMachine):
    """Every rule may happen at any time, to any process."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        Process(self.world)
        self.world.time.settle()

    def running(self) -> list[tuple[Process, Running]]:
        """Handlers that can end now."""
        processes = [one for one in self.world.processes if not one.loop.paused]
        return [(one, running) for one in processes for running in one.running if not running.answer.done()]

    def out(self) -> list[Member]:
        """Those that the group went on without, who do not know yet."""
        living = [one for one in self.world.processes if one.stopping is None and not one.loop.paused]
        return [one.member for one in living if one.member is not None and one.member.is_out]

    def pick(self, number: int) -> Process:
        """A process that lives."""
        return self.world.processes[number % len(self.world.processes)]

    @rule(partition=st.sampled_from(PARTITIONS), pick=PICK, gap=st.sampled_from((1, 1, 1, 3)), count=st.integers(1, 3))
    def records_arrive(self, *, partition: int, pick: int, gap: int, count: int) -> None:
        """With a key or without, one behind the other or behind a hole in the log."""
        for place in range(count):
            keys = KEYS[partition]
            self.world.produce(partition, keys[(pick + place) % len(keys)], gap)
        self.world.time.advance(MOMENT_SECONDS)

    @precondition(lambda self: self.running())
    @rule(ends=st.lists(st.tuples(PICK, st.sampled_from(("done", "done", "done", *ENDINGS))), min_size=1, max_size=4))
    def handlers_end(self, ends: list[tuple[int, str]]) -> None:
        """In any order. Only a row is an outcome, also where the process did not hear of it (R4)."""
        for pick, how in ends:
            running = self.running()
            if running:
                self.ends(running[pick % len(running)][1], how)
                self.world.time.advance(MOMENT_SECONDS)

    def ends(self, one: Running, how: str) -> None:
        """One handler ends like that."""
        is_done, ending = ENDINGS[how]
        if is_done:
            self.world.done.add((one.record.partition, one.record.offset))
        if how == "done":
            self.world.assignments[one.record.timestamp_ms].finished.add(one.record.offset)
        ending(one.answer)

    @rule(seconds=st.sampled_from((0.05, 0.3, 1.0, 5.0)))
    def time_passes(self, seconds: float) -> None:
        """Polls, commits, waits that are over, drains that are given up."""
        self.world.time.advance(seconds)

    @precondition(lambda self: self.world.processes)
    @rule(pick=PICK, fault=st.sampled_from(FAULTS), times=st.integers(1, 2))
    def a_commit_will_fail(self, *, pick: int, fault: Fault, times: int) -> None:
        """Not done, or done without an answer: nothing may be concluded."""
        self.pick(pick).faults.extend([fault] * times)

    @rule(
        pick=PICK,
        what=st.sampled_from(
            ("rebalance", "rebalance", "evict", "hear", "pause", "pause", "kill", "stop", "start", "start")
        ),
    )
    def trouble_comes(self, *, pick: int, what: str) -> None:
        """One rule for all of it, so that work and trouble come about as often."""
        if not any(one.stopping is None for one in self.world.processes):
            what = "start"
        getattr(self, what)(pick)
        self.world.time.settle()

    def start(self, pick: int) -> None:
        """A process joins the group, where there are few; nobody else keeps anything."""
        if len(self.world.processes) < 2 + pick % 2:
            Process(self.world)

    def rebalance(self, pick: int) -> None:
        """Everybody gives everything back, with handlers still running, and reads from the committed offset again."""
        self.world.group.rebalance()

    def evict(self, pick: int) -> None:
        """The group goes on without one: paused, dead or slow. Whatever it commits from now on is refused."""
        if members := self.world.group.members:
            self.world.group.evict(members[pick % len(members)])

    def hear(self, pick: int) -> None:
        """Who is out notices, gives back what others may have by now, and joins again."""
        if out := self.out():
            out[pick % len(out)].join_again()

    def pause(self, pick: int) -> None:
        """SIGSTOP, or SIGCONT."""
        loop = self.pick(pick).loop
        loop.paused = not loop.paused

    def kill(self, pick: int) -> None:
        """SIGKILL; the group still counts on it until its session is over."""
        self.pick(pick).kill()

    def stop(self, pick: int) -> None:
        """SIGTERM: it waits for what runs, cancels the rest, commits and leaves."""
        process = self.pick(pick)
        if process.stopping is None:
            process.stop(grace_seconds=1.0 if pick % 2 else 0.0)

    @invariant()
    def nothing_broke(self) -> None:
        """What was checked at the calls themselves, and the permits."""
        assert not self.world.broken, self.world.broken
        for process in [one for one in self.world.processes if one.is_over()]:
            process.kill()
        for process in self.world.processes:
            state = process.consumer.state
            assert not state.refused
            if process.stopping is None and not process.loop.paused:
                assert state.in_flight == len(process.running) <= LIMITS.in_flight
                assert state.buffered_records >= len(process.running) + state.waiting_lanes

    def teardown(self) -> None:
        """At rest all is done and committed, whatever happened; a lane or a permit that was lost would be missed here."""
        try:
            if not self.world.broken:
                self._come_to_rest()
        finally:
            for process in list(self.world.processes):
                process.kill()
            self.world.time.close()

    def _come_to_rest(self) -> None:
        self._heal()
        for _ in range(int(REST_SECONDS / 0.25)):
            for _, one in self.running():
                self.ends(one, "done")
            self.world.time.advance(0.25)
            self.nothing_broke()
            if self._is_at_rest():
                return
        raise AssertionError(f"{self.world.group} after {REST_SECONDS} s with {self.world.processes}")

    def _heal(self) -> None:
        for process in self.world.processes:
            process.loop.paused = False
            process.faults.clear()
        if not any(process.stopping is None for process in self.world.processes):
            Process(self.world)
        self.world.time.settle()
        gone = [one for one in self.world.group.members if one.process not in self.world.processes]
        for member in gone:
            self.world.group.evict(member)
        for member in self.out():
            member.join_again()

    def _is_at_rest(self) -> bool:
        ends = {partition: self.world.end(partition) for partition in PARTITIONS if self.world.log[partition]}
        return self.world.group.committed == ends == self.world.progress


def test_no_interleaving_breaks_lanes_and_offsets(caplog: pytest.LogCaptureFixture) -> None:
    """R4, R6, R39: in order and one at a time in a lane, offsets behind outcomes and of their own assignment, nothing stuck."""
    caplog.set_level(logging.CRITICAL, logger="turn_runner")
    run_state_machine_as_test(
        LanesMachine,
        settings=settings(
            max_examples=40,
            stateful_step_count=50,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate,),
        ),
    )
