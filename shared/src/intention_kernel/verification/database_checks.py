"""What of an adopter's Postgres the guarantees rest on, each as a row with what was found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from intention_kernel.clock import Clock, SystemClock
from intention_kernel.errors import InfrastructureError
from intention_kernel.postgres.pool import SETTINGS, StatementConnection
from intention_kernel.verification.checks import Check, Outcome, Status
from intention_kernel.verification.scratch import connected

_SQL = Path(__file__).parent / "sql"
_TRIED_VERSION = 160_000
_NOTED_SKEW_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """`skew_seconds`: the server's clock minus ours; `uncertain_seconds` of it are the way there and back.

    `keeps_settings`: a connection has the settings that our processes ask for when they connect.
    """

    version: int
    version_text: str
    isolation: str
    synchronous_commit: str
    standbys: str
    fsync: bool
    full_page_writes: bool
    is_replica: bool
    is_read_only: bool
    encoding: str
    skew_seconds: float
    uncertain_seconds: float
    keeps_settings: bool


def database_checks() -> tuple[Check, ...]:
    """In the order of `judge_database`."""
    return tuple(Check(f"database.{name}", "servers", "database", title) for name, title in _TITLES.items())


_TITLES = {
    "version": "the server is of a version that is tested",
    "isolation": "transactions are READ COMMITTED, and see what they waited for",
    "synchronous_commit": "a commit is on disk before it is acknowledged",
    "fsync": "what is written survives the end of the machine",
    "writable": "it is the server that is written to, not a replica",
    "encoding": "text is UTF-8",
    "settings": "connections have the settings that processes ask for",
    "clock": "its clock and this machine's agree",
}


async def read_database(database_url: str, clock: Clock | None = None) -> DatabaseFacts:
    """Ask the server. Raises InfrastructureError."""
    clock = clock or SystemClock()
    async with connected(database_url) as connection:
        began = clock.monotonic_seconds()
        row = await connection.fetchrow((_SQL / "database_facts.sql").read_text("utf-8"))
        ours, took = clock.now(), clock.monotonic_seconds() - began
    assert row is not None, "it has one row"
    facts = dict(row)
    now: datetime = facts.pop("now")
    skew = (now - ours).total_seconds()
    keeps = await _keeps_settings(database_url)
    return DatabaseFacts(**facts, skew_seconds=skew, uncertain_seconds=took, keeps_settings=keeps)


def judge_database(facts: DatabaseFacts) -> list[Outcome]:
    """One row each."""
    old = facts.version < _TRIED_VERSION
    skewed = abs(facts.skew_seconds) - facts.uncertain_seconds > _NOTED_SKEW_SECONDS
    writable = not (facts.is_replica or facts.is_read_only)
    found: dict[str, tuple[Status, str]] = {
        "version": ("warn" if old else "pass", f"PostgreSQL {facts.version_text}; tested are 16 and later"),
        "isolation": _unless(facts.isolation == "read committed", "fail", facts.isolation),
        "synchronous_commit": _synchronous_commit(facts),
        "fsync": _fsync(facts),
        "writable": _unless(writable, "fail", "writable" if writable else "a replica, or read only"),
        "encoding": _unless(facts.encoding == "UTF8", "fail", facts.encoding),
        "settings": _settings(keeps=facts.keeps_settings),
        "clock": ("warn" if skewed else "pass", f"{facts.skew_seconds:+.3f} s; leases count on the database's alone"),
    }
    return [Outcome(check, *_placed(found[check.name.removeprefix("database.")])) for check in database_checks()]


def _unless(right: bool, otherwise: Status, evidence: str) -> tuple[Status, str]:  # noqa: FBT001 - the verdict itself
    return ("pass" if right else otherwise), evidence


def _placed(judged: tuple[Status, str]) -> tuple[Status, float, str]:
    return judged[0], 0.0, judged[1]


def _synchronous_commit(facts: DatabaseFacts) -> tuple[Status, str]:
    said = f"synchronous_commit {facts.synchronous_commit}, synchronous standbys {facts.standbys or 'none'}"
    if facts.synchronous_commit == "off":
        return "fail", f"{said}: an acknowledged turn may be lost when the server stops"
    return "pass", said if facts.standbys else f"{said}: after a failover to a replica run `intention recover`"


def _fsync(facts: DatabaseFacts) -> tuple[Status, str]:
    said = {True: "on", False: "off"}
    text = f"fsync {said[facts.fsync]}, full_page_writes {said[facts.full_page_writes]}"
    if facts.fsync and facts.full_page_writes:
        return "pass", text
    return "fail", f"{text}: a machine that loses power may lose or spoil what was acknowledged"


def _settings(*, keeps: bool) -> tuple[Status, str]:
    if keeps:
        return "pass", "statement_timeout and pinned plans arrive"
    return "warn", "something between drops them: statements may hang, and plans become scans as tables grow"


async def _keeps_settings(database_url: str) -> bool:
    connection = StatementConnection(database_url)
    try:
        [row] = await connection.fetch(
            "select current_setting('statement_timeout') as timeout, current_setting('plan_cache_mode') as mode", ()
        )
    except InfrastructureError:
        return False
    finally:
        await connection.close()
    return bool(row["timeout"] == "5s" and row["mode"] == SETTINGS["plan_cache_mode"])
