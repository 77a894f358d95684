"""The line itself: record -> request -> with_turn -> outcome -> done or again (design 3)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from intention_kernel.clock import Clock
from intention_kernel.contracts.turn_request import TurnRequest, decode_turn_request
from intention_kernel.durability.durability import Durability
from intention_kernel.durability.outcome import (
    BeginAgain,
    TurnCommitted,
    TurnConflict,
    TurnFailed,
    TurnRejected,
    TurnReplayed,
)
from intention_kernel.durability.outcome import Outcome as TurnOutcome
from intention_kernel.errors import InfrastructureError, RejectedError
from intention_kernel.ids import jittered_seconds, random_id
from intention_kernel.kafka.record import Record, origin_of
from intention_kernel.ports.rejections import Rejection, Rejections
from intention_kernel.ports.turn_body import Delivery, TurnBody
from intention_kernel.ports.turn_store import Origin
from intention_kernel.runtime.events import Observers
from intention_kernel.runtime.replay import publish_replayed

from turn_runner.outcomes import Again, Done, Outcome, RunAlone

logger = logging.getLogger(__name__)

_FIRST_WAIT_SECONDS = {"busy": 0.1, "contended": 0.02, "fenced": 0.05, "held": 1.0, "attempt_failed": 0.5}
_LONGEST_WAIT_SECONDS = {"busy": 1.0, "contended": 0.2, "fenced": 1.0, "held": 30.0, "attempt_failed": 10.0}


@dataclass(slots=True)
class _Waiting:
    """What a record that begins again remembers; gone with its outcome."""

    nonce: UUID
    rounds: int = 0
    held_since_seconds: float | None = None
    held_why: str = ""


class TurnHandler:
    """Handles one record at a time for a lane. Everything it returns Done for is a committed row (protocol R4)."""

    def __init__(
        self,
        durability: Durability,
        rejections: Rejections,
        bodies: Mapping[str, TurnBody],
        observers: Observers,
        clock: Clock,
        held_seconds: float,
    ) -> None:
        self._durability = durability
        self._rejections = rejections
        self._bodies = bodies
        self._observers = observers
        self._clock = clock
        self._held_seconds = held_seconds
        self._waiting: dict[tuple[str, int, int], _Waiting] = {}
        self.outcomes: Counter[str] = Counter()

    @property
    def sink_failures(self) -> int:
        """How often an event sink of this process raised."""
        return self._observers.sink_failures.count

    async def __call__(self, record: Record) -> Outcome:
        """Raises InfrastructureError where nothing was decided: call it with the same record again."""
        origin = origin_of(record)
        try:
            request = decode_turn_request(record.key, record.value)
        except RejectedError as error:
            await self._rejections.reject(_rejection(origin, error))
            return self._ended(record, TurnRejected(error.reason, error.detail))
        place = (record.topic, record.partition, record.offset)
        waiting = self._waiting.setdefault(place, _Waiting(random_id()))
        held_too_long = self._held_too_long(waiting)
        delivery = Delivery(request, origin, waiting.nonce, record.alone, held_too_long, record.restored)
        try:
            result = await self._durability.with_turn(delivery, self._bodies.get(request.agent_id))
        except InfrastructureError:
            raise
        except Exception:
            waiting.nonce = (
                random_id()
            )  # an attempt of its own, so that one that always ends like this is set aside (R6)
            raise
        if isinstance(result, BeginAgain):
            return self._again(waiting, result, request)
        if isinstance(result, TurnReplayed):
            self._tell_replayed(request, result)
        return self._ended(record, result)

    def _tell_replayed(self, request: TurnRequest, replayed: TurnReplayed) -> None:
        """The live feed is best effort: a `redact` that fails on it must not hold the offset of a committed turn."""
        try:
            publish_replayed(request, replayed.result, self._observers, self._clock)
        except Exception:
            ids = {"thread_id": request.thread_id, "turn_id": request.turn_id}
            logger.exception("turn.replayed could not be told", extra=ids)

    def _again(self, waiting: _Waiting, again: BeginAgain, request: TurnRequest) -> Outcome:
        self.outcomes[again.why] += 1
        waiting.nonce = random_id()
        waiting.rounds += 1
        if again.why == "held":
            waiting.held_why = again.detail
            if waiting.held_since_seconds is None:
                waiting.held_since_seconds = self._clock.monotonic_seconds()
                ids = {"thread_id": request.thread_id, "turn_id": request.turn_id}
                logger.warning("turn.held: %s", again.detail, extra=ids)
        if again.why == "alone":
            return RunAlone()
        wait = min(_FIRST_WAIT_SECONDS[again.why] * 2 ** min(waiting.rounds - 1, 16), _LONGEST_WAIT_SECONDS[again.why])
        return Again(jittered_seconds(wait), again.why)

    def _held_too_long(self, waiting: _Waiting) -> str | None:
        since = waiting.held_since_seconds
        if since is None or self._clock.monotonic_seconds() - since < self._held_seconds:
            return None
        return waiting.held_why

    def _ended(self, record: Record, outcome: TurnOutcome) -> Done:
        self._waiting.pop((record.topic, record.partition, record.offset), None)
        self.outcomes[_NAMES[type(outcome)]] += 1
        if isinstance(outcome, TurnRejected | TurnFailed):
            place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
            logger.warning("turn.%s: %s: %s", _NAMES[type(outcome)], outcome.reason, outcome.detail, extra=place)
        return Done()


_NAMES: dict[type[TurnOutcome], str] = {
    TurnCommitted: "committed",
    TurnReplayed: "replayed",
    TurnConflict: "conflict",
    TurnRejected: "rejected",
    TurnFailed: "failed",
}


def _rejection(origin: Origin, error: RejectedError) -> Rejection:
    return Rejection(origin, error.reason, error.detail)
