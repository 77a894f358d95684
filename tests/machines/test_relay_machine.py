"""A state machine of the relay's leases: several real relays in virtual time against a list of rows and what is on the topics."""

from __future__ import annotations

import logging

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.machines.relay_world import EVENTS, LEASE_SECONDS, REQUESTS, RelayProcess, Sent, World

PICK = st.integers(min_value=0, max_value=1_000)
MOMENT_SECONDS = 0.05
REST_SECONDS = 60.0
UNDER_WAY_SECONDS = LEASE_SECONDS / 4 - MOMENT_SECONDS
TROUBLES = ("pause", "pause", "stall", "hang", "hang", "kill", "start", "fault", "slow", "slow", "refuse")
FAULTS = (1, 3, 20)


class RelayMachine(RuleBasedStateMachine):
    """Every rule may happen at any time, to any relay."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.start(0)
        self.pass_by(MOMENT_SECONDS)

    def pass_by(self, seconds: float) -> None:
        """Time, and the end of those that aborted meanwhile."""
        self.world.time.advance(seconds)
        for relay in [one for one in self.world.relays if one.is_gone]:
            relay.kill()

    def calls(self) -> list[Sent]:
        """Publish calls of relays that are not paused: who is paused hands nothing over."""
        return [call for call in self.world.sent if not call.relay.loop.paused and not call.relay.is_gone]

    def pick(self, number: int) -> RelayProcess:
        """A relay that lives."""
        return self.world.relays[number % len(self.world.relays)]

    @rule(turns=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.booleans()), min_size=1, max_size=4))
    def turns_end(self, turns: list[tuple[int, int, bool]]) -> None:
        """Events of a turn, or a request."""
        self.commit(turns)

    def commit(self, turns: list[tuple[int, int, bool]]) -> None:
        """Rows for the relays; those who listen are woken."""
        for thread, count, is_request in turns:
            self.world.commit(thread, count, REQUESTS if is_request else EVENTS)
        for relay in self.world.relays:
            relay.relay.wake()
        self.pass_by(MOMENT_SECONDS)

    @precondition(lambda self: self.calls())
    @rule(rows=st.lists(st.tuples(PICK, st.sampled_from(("taken", "taken", "late", "lost", "taken and lost")))))
    def the_broker_answers(self, rows: list[tuple[int, str]]) -> None:
        """Row by row, in any order of calls; a row may be long under way, and a reply lost with the row on the topic or not."""
        for pick, how in rows:
            if calls := self.calls():
                call = calls[pick % len(calls)]
                if how in ("taken", "late"):
                    self.world.deliver(call, UNDER_WAY_SECONDS if how == "late" else 0.0)
                else:
                    self.world.lose_reply(call, taken=how != "lost")
                self.pass_by(0.0)
        self.pass_by(MOMENT_SECONDS)

    @rule(seconds=st.sampled_from((MOMENT_SECONDS, 0.5, LEASE_SECONDS / 3, LEASE_SECONDS)))
    def time_passes(self, seconds: float) -> None:
        """Beats, deadlines, leases that are over."""
        self.pass_by(seconds)

    @rule(pick=PICK, what=st.sampled_from(TROUBLES))
    def trouble_comes(self, *, pick: int, what: str) -> None:
        """One rule for all of it, so that work and trouble come about as often."""
        getattr(self, what if self.world.relays else "start")(pick)
        self.pass_by(MOMENT_SECONDS)

    def pause(self, pick: int) -> None:
        """SIGSTOP; or SIGCONT, where what was about to be handed over may be the first thing that happens.

        What the driver has is left out there: between SIGCONT and the abort it may go out (R37's readers drop it).
        """
        relay = self.pick(pick)
        relay.loop.paused = not relay.loop.paused
        calls = [call for call in self.calls() if call.relay is relay and not call.handed_over]
        if calls and pick % 2:
            self.world.deliver(calls[0])

    def stall(self, pick: int) -> None:
        """A pause that outlasts the lease, of one that goes on at once, or of all that are on its host."""
        stalled = self.world.relays if pick % 3 else [self.pick(pick)]
        running = [relay for relay in stalled if not relay.loop.paused]
        for relay in running:
            relay.loop.paused = True
        self.pass_by(LEASE_SECONDS + MOMENT_SECONDS)
        for relay in running:
            relay.loop.paused = False

    def kill(self, pick: int) -> None:
        """SIGKILL."""
        self.pick(pick).kill()

    def start(self, pick: int) -> None:
        """Another relay, where there are few."""
        if len(self.world.relays) < 3:
            RelayProcess(self.world)

    def hang(self, pick: int) -> None:
        """The driver has the next rows of this one, and the broker does not answer it; perhaps for longer than the lease."""
        relay = self.pick(pick)
        for call in [one for one in self.calls() if one.relay is relay]:
            self.world.hand_over(call)
        if pick % 2:
            self.stall(pick)

    def slow(self, pick: int) -> None:
        """The next fetch takes long, that of a new row perhaps for longer than the lease; or it has its answer at last."""
        relay = self.pick(pick)
        relay.is_slow = relay.slow_answer is None
        relay.answer()
        if pick % 2 and relay.is_slow:
            self.commit([(pick % 6, 1, False)])
            self.stall(pick)
            self.pass_by(MOMENT_SECONDS)
            relay.answer()

    def fault(self, pick: int) -> None:
        """The database answers this one nothing for a while, which may be longer than its lease."""
        self.pick(pick).faults += FAULTS[pick % len(FAULTS)]

    def refuse(self, pick: int) -> None:
        """The broker will never take one of the rows that wait."""
        waiting = [row.id for row in self.world.rows.values() if row.id not in self.world.topic.get(row.stream, ())]
        if waiting and len(self.world.will_refuse) < 2:
            self.world.will_refuse.add(waiting[pick % len(waiting)])

    @invariant()
    def nothing_broke(self) -> None:
        """What was checked at the calls themselves, and that no shard is two relays' who may send."""
        assert not self.world.broken, self.world.broken
        owners = [
            (shard, one.owner) for one in self.world.relays if not one.loop.paused for shard in one.shards.usable()
        ]
        assert len({shard for shard, _ in owners}) == len(owners), owners

    def teardown(self) -> None:
        """At rest all that the broker takes is on its topic, and nothing else waits."""
        try:
            if not self.world.broken:
                self._come_to_rest()
        finally:
            for relay in list(self.world.relays):
                relay.kill()
            self.world.time.close()

    def _come_to_rest(self) -> None:
        for relay in self.world.relays:
            relay.loop.paused, relay.is_slow, relay.faults = False, False, 0
            relay.answer()
        self.pass_by(MOMENT_SECONDS)
        for _ in range(int(REST_SECONDS / 0.5)):
            self.start(0) if not self.world.relays else None
            while calls := self.calls():
                self.world.deliver(calls[0])
                self.pass_by(0.0)
            self.pass_by(0.5)
            self.nothing_broke()
            if self._is_at_rest():
                return
        raise AssertionError(f"after {REST_SECONDS} s {list(self.world.rows.values())} wait")

    def _is_at_rest(self) -> bool:
        stopped = {self.world.rows[one].stream for one in self.world.refused}
        waiting = [row for row in self.world.rows.values() if row.stream not in stopped]
        if waiting or self.world.sent:
            return False
        for stream, made in self.world.made.items():
            assert stream in stopped or set(made) == set(self.world.topic[stream])
        return True


def test_no_interleaving_breaks_the_relays_leases(caplog: pytest.LogCaptureFixture) -> None:
    """R35-R37: one owner of an epoch, nothing sent without a lease, in order but for repeats, deleted once acknowledged."""
    caplog.set_level(logging.CRITICAL, logger="outbox_relay")
    run_state_machine_as_test(
        RelayMachine,
        settings=settings(
            max_examples=60,
            stateful_step_count=50,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate,),
        ),
    )
