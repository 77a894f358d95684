"""From a record to done or again: what the handler remembers of a record, and for how long (protocol R4, R6, R8)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from intention_kernel.clock import ManualClock
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.durability.outcome import (
    BeginAgain,
    Outcome,
    TurnCommitted,
    TurnConflict,
    TurnFailed,
    TurnRejected,
    TurnReplayed,
)
from intention_kernel.errors import InfrastructureError
from intention_kernel.kafka.record import Record
from intention_kernel.ports.rejections import Rejection
from intention_kernel.ports.turn_body import Delivery, TurnBody
from intention_kernel.runtime.events import Observers, Redact
from intention_kernel.testing.collecting import KeptTraces
from turn_runner.handler import TurnHandler
from turn_runner.outcomes import Again, Done, RunAlone

RESULT = b'{"revision":1,"replayed":false}'


class Spine:
    """A spine that answers from a script and keeps what it was given."""

    def __init__(self, *answers: Outcome | BeginAgain | Exception) -> None:
        self.deliveries: list[Delivery] = []
        self._answers = list(answers)

    async def with_turn(self, delivery: Delivery, body: TurnBody | None) -> Outcome | BeginAgain:
        self.deliveries.append(delivery)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Kept:
    """Rejections in a list."""

    def __init__(self) -> None:
        self.rejections: list[Rejection] = []

    async def reject(self, rejection: Rejection) -> None:
        self.rejections.append(rejection)


class World:
    def __init__(self, *answers: Outcome | BeginAgain | Exception, redact: Redact | None = None) -> None:
        self.clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.spine = Spine(*answers)
        self.kept = Kept()
        self.traces = KeptTraces()
        self.handler = TurnHandler(
            self.spine,  # type: ignore[arg-type]  # the spine's one method
            self.kept,  # type: ignore[arg-type]  # the half that a handler uses
            {},
            Observers(self.traces, redact=redact),
            self.clock,
            held_seconds=900.0,
        )


def record(offset: int = 0, *, value: bytes | None = None, alone: bool = False) -> Record:
    document = {"schemaVersion": 1, "threadId": "t", "turnId": "u", "agentId": "a", "input": {"text": "hi"}}
    raw = json.dumps(document).encode() if value is None else value
    return Record("turns.requests", 3, offset, b"t", raw, (("h", None),), 1_700_000_000_000, len(raw), alone)


@pytest.mark.parametrize(
    "outcome",
    [
        TurnCommitted(1, RESULT),
        TurnReplayed(RESULT),
        TurnConflict(),
        TurnRejected("unknown_agent", ""),
        TurnFailed("held_too_long", ""),
    ],
)
async def test_every_outcome_is_a_row_and_lets_the_record_go(outcome: Outcome) -> None:
    """R4."""
    assert await World(outcome).handler(record()) == Done()


async def test_a_record_that_cannot_be_decoded_is_kept_with_its_bytes_and_origin() -> None:
    world = World()
    assert await world.handler(record(7, value=b"\xff")) == Done()
    (rejection,) = world.kept.rejections
    assert rejection.reason == "not_json"
    origin = rejection.origin
    assert (origin.partition, origin.offset, origin.value, origin.headers) == (3, 7, b"\xff", (("h", None),))
    assert not world.spine.deliveries


async def test_a_replay_is_told_on_the_live_feed_only() -> None:
    """Interface 3."""
    world = World(TurnReplayed(RESULT))
    await world.handler(record())
    (trace,) = world.traces.published
    assert (trace["type"], trace["data"]) == ("turn.replayed", {"revision": 1, "replayed": True})


@pytest.mark.parametrize("why", ["busy", "contended", "fenced", "held", "attempt_failed"])
async def test_what_begins_again_waits_longer_each_time_up_to_a_bound(why: str) -> None:
    """R4: none of them is an outcome."""
    again = BeginAgain(why)  # type: ignore[arg-type]  # one of its literals
    world = World(*[again] * 12)
    waits = []
    for _ in range(12):
        answer = await world.handler(record())
        assert isinstance(answer, Again)
        assert answer.reason == why
        waits.append(answer.delay_seconds)
    assert waits[0] < waits[-1] <= 45.0


async def test_two_crashes_run_alone() -> None:
    """R6."""
    world = World(BeginAgain("alone"), TurnCommitted(1, RESULT))
    assert await world.handler(record()) == RunAlone()
    assert await world.handler(record(alone=True)) == Done()
    assert [delivery.alone for delivery in world.spine.deliveries] == [False, True]


async def test_the_nonce_is_kept_while_the_store_is_away_and_only_then() -> None:
    """R1, R11: the begin that may have happened is repeated; a new attempt is a new begin."""
    away = InfrastructureError("away")
    world = World(away, away, BeginAgain("busy"), TurnCommitted(1, RESULT))
    for _ in range(2):
        with pytest.raises(InfrastructureError):
            await world.handler(record())
    await world.handler(record())
    await world.handler(record())
    nonces = [delivery.nonce for delivery in world.spine.deliveries]
    assert nonces[0] == nonces[1] == nonces[2]
    assert nonces[3] != nonces[0]


async def test_a_turn_that_is_held_too_long_is_given_up_with_the_reason() -> None:
    """R8: fifteen minutes, by the clock that never goes back."""
    held = BeginAgain("held", "the thread has fingerprint x, this build y")
    world = World(held, held, TurnFailed("held_too_long", ""), held)
    await world.handler(record())
    world.clock.advance(899.0)
    await world.handler(record())
    world.clock.advance(2.0)
    assert await world.handler(record()) == Done()
    given_up = [delivery.held_too_long for delivery in world.spine.deliveries]
    assert given_up == [None, None, "the thread has fingerprint x, this build y"]
    await world.handler(record())
    assert world.spine.deliveries[-1].held_too_long is None, "nothing is remembered past the outcome"


async def test_records_do_not_share_what_is_remembered() -> None:
    world = World(*[BeginAgain("held", "x")] * 3)
    await world.handler(record(1))
    world.clock.advance(1000.0)
    await world.handler(record(2))
    await world.handler(replace(record(1), partition=4))
    assert [delivery.held_too_long for delivery in world.spine.deliveries] == [None, None, None]


async def test_an_error_of_the_spine_is_an_attempt_and_an_outage_is_none() -> None:
    """R6: with the nonce of the last begin it would begin for ever, never counted and never set aside."""
    world = World(InfrastructureError("away"), LookupError("a bug"), TurnCommitted(1, RESULT))
    for kind in (InfrastructureError, LookupError):
        with pytest.raises(kind):
            await world.handler(record())
    await world.handler(record())
    first, second, third = [delivery.nonce for delivery in world.spine.deliveries]
    assert first == second != third


async def test_a_replay_that_cannot_be_told_is_done_all_the_same() -> None:
    """R4: its turn is a committed row; a `redact` of a newer build must not hold its offset for ever."""

    def redact(_: JsonValue) -> JsonValue:
        raise ValueError("cannot tell")

    world = World(TurnReplayed(RESULT), redact=redact)
    assert await world.handler(record()) == Done()
    assert not world.traces.published
