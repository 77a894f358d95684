"""What the driver's errors mean. The only place that knows them; above it is our error tree alone (protocol R11, R13)."""

from __future__ import annotations

from enum import Enum, auto

import asyncpg

from intention_kernel.errors import InfrastructureError, SchemaVersionError, TurnLimitError

DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
"""Everything that a statement may raise."""


class Trouble(Enum):
    """What to do about a failed statement."""

    AGAIN = auto()
    """Serialization, deadlock: the same rows again on the same connection."""
    LOCKED = auto()
    """A lock did not come in time: again, or say so."""
    RECONNECT = auto()
    """Nobody knows whether it ran: the same rows with the same ids again, on a new connection."""
    REFUSED = auto()
    """A value was refused: the rows one by one, then it is that row's own failure."""
    SCHEMA = auto()
    """The database has not what this build calls."""


_BY_STATE = {
    "40001": Trouble.AGAIN,
    "40P01": Trouble.AGAIN,
    "55P03": Trouble.LOCKED,
    "57014": Trouble.RECONNECT,  # a statement timeout: what it waited for may be over on another connection
    "0A000": Trouble.RECONNECT,  # a cached plan whose result type a migration changed
    "42883": Trouble.SCHEMA,
    "42P01": Trouble.SCHEMA,
    "42703": Trouble.SCHEMA,
    "3F000": Trouble.SCHEMA,
}
_BY_CLASS = {
    "22": Trouble.REFUSED,
    "23": Trouble.REFUSED,
    "54": Trouble.REFUSED,  # a row or an index entry is too large; but see _SERVER_IS_FULL
    "IK": Trouble.REFUSED,  # our own triggers
    "P0": Trouble.REFUSED,
}
_SERVER_IS_FULL = frozenset(
    {
        "GetNewTransactionId",
        "GetNewMultiXactId",
        "mdextend",
        "mdzeroextend",
        "ExtendBufferedRelLocal",
        "ExtendBufferedRelShared",
    }
)
"""Where Postgres says "a limit is exceeded" (54000) of itself, not of a value: no transaction ids are left before a
wraparound, or a relation has its last block."""


def classify(error: BaseException) -> Trouble:
    """By SQLSTATE; whatever is not known is a connection that cannot be trusted any more."""
    if isinstance(error, asyncpg.PostgresError):
        state = str(error.sqlstate or "")
        if state == "54000" and getattr(error, "server_source_function", None) in _SERVER_IS_FULL:
            return Trouble.RECONNECT
        return _BY_STATE.get(state) or _BY_CLASS.get(state[:2], Trouble.RECONNECT)
    if isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError):
        return Trouble.REFUSED  # the driver could not encode a value
    return Trouble.RECONNECT


def unanswered(error: BaseException) -> InfrastructureError | SchemaVersionError:
    """The error for a statement that got no answer in all the time there was."""
    if classify(error) is Trouble.SCHEMA:
        return SchemaVersionError(f"the database lacks what this build calls ({error}): run `intention migrate`")
    return InfrastructureError(f"the database did not answer: {type(error).__name__}: {error}")


def refused(error: BaseException) -> TurnLimitError:
    """The error for one row whose value the database cannot hold."""
    return TurnLimitError(f"the database refused a value: {type(error).__name__}: {error}")
