"""`rejected redrive` and `drop` over a real database: what is shown first, what is refused, what is done (interface 4)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import asyncpg
import pytest
from intention_kernel.ports.turn_store import Begun
from intention_kernel.postgres.reading import open_reading
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.testing.boundary_calls import (
    begun,
    commit_of,
    committed,
    digest_of,
    end_of,
    origin_of,
    prepared,
    rejection_of,
    set_aside_of,
)

from tests.cli.invoking import Said, environment, intention_beside

TURN = "t@1"
RECORD = "turns.requests/3/7"


@pytest.fixture
async def store(fresh_database: str) -> AsyncIterator[PostgresStore]:
    """`turn-1` of thread `t` is set aside, an unreadable record of thread `r` and one without a key are rejected."""
    async with PostgresStore.open(fresh_database) as opened:
        attempt = await begun(opened, "t", "turn-1")
        await opened.set_aside(set_aside_of("t", "turn-1", attempt))
        await opened.reject(rejection_of(replace(origin_of(), key=b"r")))
        await opened.reject(rejection_of(replace(origin_of(8), key=None)))
        yield opened


async def _said(database: str, *arguments: str) -> Said:
    return await intention_beside("rejected", *arguments, env=environment(database))


async def _rows(database: str, query: str) -> list[Any]:
    connection = await asyncpg.connect(database)
    try:
        return list(await connection.fetch(query))
    finally:
        await connection.close()


async def _requested(database: str) -> list[str]:
    rows = await _rows(database, "select dedupe from outbox where topic = 'turns.requests' order by id")
    return [row["dedupe"] for row in rows]


@pytest.mark.usefixtures("store")
async def test_a_dry_run_shows_and_does_nothing(fresh_database: str) -> None:
    said = await _said(fresh_database, "redrive", TURN, "--dry-run")
    assert (said.code, said.lines[0]) == (0, "turn turn-1")
    assert "later turns: none" in said.lines
    assert "without --dry-run" in said.out
    assert await _requested(fresh_database) == []
    listed = json.loads((await _said(fresh_database, "ls", "-o", "json")).out)
    assert {one["state"] for one in listed} == {"open"}


@pytest.mark.usefixtures("store")
async def test_a_redrive_is_done_once_and_told_everywhere(fresh_database: str) -> None:
    """R33: the request is in the outbox, the audit log says who and why, and every reader says redriven."""
    said = await _said(fresh_database, "redrive", TURN, "--reason", "fixed", "--as", "ana")
    assert (said.code, said.lines[-1]) == (0, "its request is on its way again")
    assert await _requested(fresh_database) == ["redrive:1"]
    [line] = await _rows(fresh_database, "select actor, action, detail from audit_log")
    detail = json.loads(line["detail"])
    assert (line["actor"], line["action"], detail["turnId"], detail["reason"]) == ("ana", "redrive", "turn-1", "fixed")
    again = await _said(fresh_database, "redrive", TURN)
    assert (again.code, again.err) == (5, f"{TURN} is redriven already\n")
    shown = json.loads((await intention_beside("turn", "show", "t", "turn-1", env=environment(fresh_database))).out)
    assert (shown["state"], [aside["state"] for aside in shown["setAside"]]) == ("redriven", ["redriven"])


async def test_turns_that_came_later_are_shown_and_have_to_be_meant(store: PostgresStore, fresh_database: str) -> None:
    """R33: exit code 6 without the flag."""
    await committed(store, commit_of("t", "turn-2", await begun(store, "t", "turn-2")))
    refused = await _said(fresh_database, "redrive", TURN, "-o", "json")
    document = json.loads(refused.out)
    assert (refused.code, document["outcome"], document["laterTurns"]) == (6, "later_turns", ["turn-2"])
    assert "--after-later-turns" in refused.err
    assert (await _said(fresh_database, "redrive", TURN, "--dry-run")).code == 6
    done = await _said(fresh_database, "redrive", TURN, "--after-later-turns", "-o", "ids")
    assert (done.code, done.lines) == (0, [TURN])


async def test_an_open_receipt_is_shown_and_refuses(store: PostgresStore, fresh_database: str) -> None:
    """R33: whatever flags are given."""
    attempt: Begun = await begun(store, "t", "turn-2")
    ask = await prepared(store, "t", "turn-2", attempt.fence)
    await store.end(end_of(ask, "uncertain"))
    await store.set_aside(set_aside_of("t", "turn-2", attempt))
    refused = await _said(fresh_database, "redrive", "t@2", "--after-later-turns")
    assert (refused.code, "uncertain reserve:1" in refused.out, "queue show" in refused.err) == (6, True, True)
    assert await _requested(fresh_database) == []


@pytest.mark.usefixtures("store")
async def test_a_dropped_turn_stays_dropped_and_a_client_is_told(fresh_database: str) -> None:
    assert (await _said(fresh_database, "drop", TURN)).code == 2, "a reason is needed"
    dropped = await _said(fresh_database, "drop", TURN, "--reason", "the customer called")
    assert (dropped.code, dropped.lines) == (0, ["given up for ever"])
    assert (await _said(fresh_database, "redrive", TURN)).code == 5
    shown = json.loads((await intention_beside("turn", "show", "t", "turn-1", env=environment(fresh_database))).out)
    assert shown["state"] == "dropped"
    async with open_reading(fresh_database) as reading:
        assert await reading.open_set_aside("t", "turn-1", digest_of("hello")) is not None


@pytest.mark.usefixtures("store")
async def test_a_rejected_record_is_sent_again_or_dropped(fresh_database: str) -> None:
    """R34: one that no build would take is refused with what to do."""
    ids = (await _said(fresh_database, "ls", "-o", "ids")).lines
    [readable] = [one for one in ids if one.startswith(RECORD)]
    [keyless] = [one for one in ids if "/8/" in one]
    assert (await _said(fresh_database, "redrive", readable, "--dry-run")).code == 0
    assert await _requested(fresh_database) == []
    assert (await _said(fresh_database, "redrive", readable, "-o", "jsonl")).lines == [
        json.dumps({"id": readable, "outcome": "redriven"}, separators=(",", ":"))
    ]
    [dedupe] = await _requested(fresh_database)
    assert dedupe.startswith("redrive:turns.requests:3:7:")
    refused = await _said(fresh_database, "redrive", keyless)
    assert (refused.code, "producer" in refused.err) == (6, True)
    assert (await _said(fresh_database, "drop", keyless, "--reason", "noise")).code == 0
    states = {one["id"]: one["state"] for one in json.loads((await _said(fresh_database, "ls", "-o", "json")).out)}
    assert (states[readable], states[keyless], states[TURN]) == ("redriven", "dropped", "open")


@pytest.mark.parametrize("command", [("redrive",), ("drop", "--reason", "r")])
@pytest.mark.parametrize(("record", "code"), [("t@9", 4), ("turns.requests/1/1/ab", 4), ("what", 2)])
async def test_what_is_not_there_is_said_with_its_exit_code(
    fresh_database: str, command: tuple[str, ...], record: str, code: int
) -> None:
    said = await _said(fresh_database, *command, record)
    assert (said.code, bool(said.err)) == (code, True), said
