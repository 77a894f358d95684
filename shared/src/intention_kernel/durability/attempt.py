"""One attempt of one turn, and the process that makes it: the values that its effects are recorded with."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Who calls providers. `instance` names a place to run, `boot` one life of it.

    A newer boot of the same instance proves that an older one is dead (protocol R22 c): never give two processes that
    may live at once the same instance.
    """

    instance: str
    boot: UUID


@dataclass(frozen=True, slots=True)
class TurnAttempt:
    """What every statement of an attempt carries. `end_seconds` is the turn's deadline on the monotonic clock."""

    thread_id: str
    turn_id: str
    agent_id: str
    tenant_id: str | None
    fence: int
    number: int
    host_context: bytes
    requested_at_ms: int
    lease_seconds: float
    end_seconds: float
