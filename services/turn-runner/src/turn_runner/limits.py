"""The consumer's bounds, what it counts and what it shows of itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ConsumerLimits:
    """Bounds of one consumer.

    A partition is polled while its unfinished records, their bytes and the span between its committed offset and its
    last delivered record are below their windows; one poll may overshoot a window by `poll_records`, and the bytes by
    one fetch. The span is wide because a lane may wait for minutes while its neighbours go on; what a crash repeats is
    at most the span, and a repeat is a look-up.
    """

    in_flight: int = 256
    buffered_records: int = 10_000
    buffered_bytes: int = 64 * _MEBIBYTE
    window_records: int = 500
    window_bytes: int = 16 * _MEBIBYTE
    span_records: int = 50_000
    poll_records: int = 500
    poll_seconds: float = 0.05
    fetch_wait_seconds: float = 0.05
    commit_seconds: float = 0.25
    commit_completions: int = 100
    request_timeout_seconds: float = 15.0
    session_timeout_seconds: float = 30.0
    rebalance_timeout_seconds: float = 30.0
    drain_seconds: float = 2.0
    backoff_seconds: float = 0.2
    backoff_limit_seconds: float = 5.0
    stuck_seconds: float = 60.0
    leave_seconds: float = 5.0

    @property
    def heartbeat_seconds(self) -> float:
        """A tenth of the session: a rebalance is noticed within it."""
        return self.session_timeout_seconds / 10

    @property
    def revoke_seconds(self) -> float:
        """How long a revocation may wait for running handlers: short, and inside the rebalance timeout."""
        return max(0.0, min(self.drain_seconds, self.rebalance_timeout_seconds - 2.0))

    def backoff(self, failures: int) -> float:
        """Seconds to wait after the nth failure in a row, before jitter."""
        return min(self.backoff_limit_seconds, self.backoff_seconds * 2.0 ** min(failures - 1, 30))


@dataclass(slots=True)
class ConsumerCounters:
    """Totals since the process started; read by whoever exports them, written by the consumer alone."""

    polls: int = 0
    polled: int = 0
    polled_bytes: int = 0
    finished: int = 0
    stale: int = 0
    dropped: int = 0
    again: Counter[str] = field(default_factory=Counter)
    run_alone: int = 0
    infrastructure_errors: int = 0
    handler_errors: int = 0
    poll_errors: int = 0
    commits: int = 0
    commit_failures: int = 0
    commits_refused: int = 0
    rebalances: int = 0
    misplaced: int = 0


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """A moment's view for readiness: `away` means that handlers report the database or broker gone.

    `undecided` partitions wait for the database's word on them; `refused` says of each other one why it does not run (protocol R39).
    """

    joined: bool
    healthy: bool
    away: bool
    partitions: tuple[int, ...]
    undecided: tuple[int, ...]
    refused: tuple[str, ...]
    in_flight: int
    lanes: int
    waiting_lanes: int
    buffered_records: int
    buffered_bytes: int
    last_poll_age_seconds: float
