"""Bad input and limits, end to end: each has its answer, and the neighbours on the partition do not wait for it."""

from __future__ import annotations

import asyncio

import pytest
from intention_kernel.contracts.event import MAX_EVENT_BYTES
from intention_kernel.ids import random_id

from tests.acceptance.bad_input import ATTEMPTS, BAD, HEADERS, Findings, echo_system, send_everything
from tests.support.servers import SharedServers, create_database, drop_database


@pytest.fixture(scope="module")
def findings(servers: SharedServers) -> Findings:
    """Everything is sent once, for all tests of this module."""
    return asyncio.run(_send_everything(servers))


async def _send_everything(servers: SharedServers) -> Findings:
    name = f"test_{random_id().hex[:16]}"
    database_url = await create_database(servers, name, template=servers.template)
    try:
        async with echo_system(database_url, servers.kafka_bootstrap_servers, f"{name}.") as system:
            return await send_everything(system)
    finally:
        await drop_database(servers, name)


@pytest.mark.parametrize("what", BAD)
def test_a_bad_record_is_kept_and_told_with_its_reason(findings: Findings, what: str) -> None:
    """R5, R34: one row with the bytes as they came, one record on turns.rejected that names the origin."""
    sent, became = BAD[what], findings.bad[what]
    assert became.row is not None, "no row"
    assert became.row["reason"] == sent.reason
    assert sent.detail in became.row["detail"].decode()
    assert (became.row["record_key"], became.row["record_value"]) == (sent.key, sent.value)
    (published,) = became.published
    assert published.header("reason") == sent.reason
    assert sent.detail in published.header("detail")
    fits = sent.value is not None and len(sent.value) <= MAX_EVENT_BYTES
    assert published.value == (sent.value if fits else None)


def test_nothing_of_a_bad_record_is_executed(findings: Findings) -> None:
    assert "wrong" not in findings.committed
    assert findings.bound_turns == ["first"]
    assert set(findings.event_types).isdisjoint({"wrong", "a\0b", "other"})


def test_neighbours_of_bad_records_are_committed(findings: Findings) -> None:
    """R4: a record that cannot become a turn goes through a lane like every other."""
    assert findings.neighbours_missing == []


def test_an_event_over_the_limit_sets_its_turn_aside_and_nothing_else(findings: Findings) -> None:
    """R32, R37: sizes are refused at the commit; what the broker would refuse never reaches the outbox."""
    (row,) = findings.set_aside
    assert row["turn_id"] == "large"
    assert (row["reason"], row["attempts"], row["state"]) == ("attempts_used_up", ATTEMPTS, "open")
    assert "TurnLimitError" in row["detail"].decode()
    assert findings.event_types[row["thread_id"]] == ["turn.failed"]
    last = max(each["committed_at"] for each in findings.committed.values())
    assert last < row["at"], "the neighbours waited for it"


def test_headers_that_are_not_utf8_hurt_nobody(findings: Findings) -> None:
    """R13: their bytes are kept beside a rejected record; the first of the neighbours had them, too."""
    assert findings.neighbours_missing == []
    row = findings.bad["undecodable bytes"].row
    assert row is not None
    for name, value in HEADERS:
        assert name.encode() in row["record_headers"]
        assert (value or b"") in row["record_headers"]
