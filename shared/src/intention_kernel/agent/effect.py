"""Effects: external writes as an application declares them, and how an unknown outcome is found out (interface 1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import inf

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import ReceiptState, Summary
from intention_kernel.errors import ConfigurationError
from intention_kernel.ids import derived_id

Ports = Mapping[str, object]
"""The application's ports by name, opened once per process."""


class NamedPorts(dict[str, object]):
    """Ports that say, where a name is none of theirs, which there are: ConfigurationError instead of KeyError."""

    def __missing__(self, name: str) -> object:
        there = f"there are {', '.join(map(repr, self))}" if self else "there are none"
        raise ConfigurationError(f"no port is named {name!r}; {there}: see ports= of the Application, or of the test")


@dataclass(frozen=True, slots=True)
class EffectAuthority:
    """What an operation may rely on while it calls the provider.

    `idempotency_key` is the effect key: stable over retries, without thread or tenant. Where the provider's keys are
    global, send `scoped(namespace)` (protocol R21). Nothing may be sent after `not_after` (aware UTC).
    """

    idempotency_key: str
    receipt_id: str
    thread_id: str
    attempt: int
    not_after: datetime

    def scoped(self, namespace: str) -> str:
        """A stable key for a provider whose keys are global: it differs by namespace, thread and effect key."""
        return derived_id("effect", namespace, self.thread_id, self.idempotency_key)


@dataclass(frozen=True, slots=True)
class ReceiptView:
    """A receipt as a resolver sees it."""

    receipt_id: str
    thread_id: str
    turn_id: str
    agent_id: str
    tenant_id: str | None
    key: str
    payload: JsonValue
    state: ReceiptState
    version: int
    attempt: int
    prepared_at: datetime
    call_deadline: datetime
    host_context: JsonValue

    @property
    def idempotency_key(self) -> str:
        """The key that the operation was given."""
        return self.key

    def scoped(self, namespace: str) -> str:
        """The same key as `EffectAuthority.scoped`."""
        return derived_id("effect", namespace, self.thread_id, self.key)


@dataclass(frozen=True, slots=True)
class Found:
    """The provider has the effect: its result, and the provider's reference for it."""

    value: JsonValue
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """The provider does not have it now. Whether that settles anything is protocol R22's question, not the resolver's."""


@dataclass(frozen=True, slots=True)
class Inconclusive:
    """The provider's answer proves nothing, for this reason."""

    reason: str


Answer = Found | Absent | Inconclusive


@dataclass(frozen=True, slots=True)
class Lookup:
    """Ask the provider by key. The function must be read-only and end by itself."""

    find: Callable[[ReceiptView, Ports], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class IdempotentRetry:
    """Repeat the identical call inside the provider's window; the effect declares `call` and the window (R26)."""


@dataclass(frozen=True, slots=True)
class Manual:
    """A person decides."""


Resolver = Lookup | IdempotentRetry | Manual
Call = Callable[[JsonValue, EffectAuthority, Ports], Awaitable[JsonValue]]


@dataclass(frozen=True, slots=True)
class Effect:
    """An external write of an agent.

    `id` is the capability id and prefix of its keys; `result` the type of its value; `describe` payload -> Summary.
    `provider_deduplicates` certifies that the same key and payload inside `key_window_seconds` is the same effect;
    `lookup_closes_key` that a key found absent is refused for ever; `quiet_period_seconds` how long after the call's
    deadline a sent request may still land (None: a person decides); `twins` that equal payloads under other keys are meant.
    """

    id: str
    result: type
    describe: Callable[[JsonValue], Summary]
    resolver: Resolver = Manual()
    call: Call | None = None
    call_timeout_seconds: float = 30.0
    provider_deduplicates: bool = False
    key_window_seconds: float | None = None
    lookup_closes_key: bool = False
    quiet_period_seconds: float | None = None
    twins: bool = False

    def __post_init__(self) -> None:
        """Raises ConfigurationError listing every member that cannot work."""
        problems = [
            f"effect {self.id!r}: {problem}"
            for wrong, problem in (
                (not self.id or ":" in self.id, "an id is not empty and has no colon"),
                (not _more_than_zero(self.call_timeout_seconds), "call_timeout_seconds is more than 0"),
                (
                    self.key_window_seconds is not None and not _more_than_zero(self.key_window_seconds),
                    "key_window_seconds is more than 0, or None",
                ),
                (
                    self.quiet_period_seconds is not None and not 0 <= self.quiet_period_seconds < inf,
                    "quiet_period_seconds is 0 or more, or None",
                ),
                (isinstance(self.resolver, IdempotentRetry) and self.call is None, "IdempotentRetry needs call="),
                (
                    isinstance(self.resolver, IdempotentRetry) and not self.provider_deduplicates,
                    "IdempotentRetry needs provider_deduplicates=True and key_window_seconds=",
                ),
                (
                    self.provider_deduplicates and self.key_window_seconds is None,
                    "provider_deduplicates needs key_window_seconds=, the time for which the provider keeps a key",
                ),
            )
            if wrong
        ]
        if problems:
            raise ConfigurationError(*problems)


def _more_than_zero(seconds: float) -> bool:
    """And finite; NaN is neither."""
    return 0 < seconds < inf
