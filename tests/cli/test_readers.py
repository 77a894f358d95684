"""`turn show`, `thread show`, `receipts` and `rejected` over rows of a real database: what is printed loads back as it was."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
from intention_kernel.contracts.checkpoint import Checkpoint, encode_checkpoint
from intention_kernel.contracts.event import KernelEvent, pack_records, render_event
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.ids import receipt_id
from intention_kernel.postgres.origin_rows import pack_headers
from intention_kernel.postgres.packing import pack

from tests.cli.invoking import Said, environment, intention_beside

AWKWARD: JsonValue = {"nul": "\x00", "lone": "\ud800", "big": 2**70, "minus": -0.0, "long": "x" * 2000}
RECEIPT = receipt_id("t", "pay:1")


@pytest.fixture
async def database(fresh_database: str) -> str:
    """A thread with one turn that waits for a receipt, a set-aside turn and a rejected record."""
    connection = await asyncpg.connect(fresh_database)
    try:
        await _insert(connection)
    finally:
        await connection.close()
    return fresh_database


async def _insert(connection: Any) -> None:
    checkpoint = encode_checkpoint(Checkpoint("agent", "f" * 64, unknown={"future": AWKWARD}))
    event = KernelEvent(
        "e1", "turn.completed", "integration", datetime(2026, 1, 1, tzinfo=UTC), "t", "u", "agent", "u", AWKWARD
    )
    await connection.execute(
        "insert into threads (thread_id, agent_id, revision, checkpoint, turn_id, turn_digest, attempts)"
        " values ('t', 'agent', 1, $1, 'running', '', 2)",
        pack(checkpoint),
    )
    await connection.execute(
        "insert into turns (thread_id, turn_id, revision, status, digest, request, requested_at_ms, result,"
        " first_sequence, event_count, events, fence) values ('t', 'u', 1, 'blocked', '\\x01', $1, 1500, $1, 1, 1, $2, 1)",
        pack(dumps(AWKWARD)),
        pack(pack_records((render_event(event, 1, "i"),))),
    )
    await connection.execute(
        "insert into receipts (thread_id, effect_key, receipt_id, effect_id, turn_id, agent_id, state, attempt, attempt_id,"
        " fence, fingerprint, payload, host_context, title, amount, currency, deduplicates, call_deadline, instance, boot,"
        " cause) values ('t', 'pay:1', $1, 'pay', 'u', 'agent', 'prepared', 1, gen_random_uuid(), 1, '', $2, $2,"
        " 'Pay \x1b[2J now', 12.50, 'EUR', false, clock_timestamp(), 'i', gen_random_uuid(), 'prepare')",
        RECEIPT,
        pack(dumps(AWKWARD)),
    )
    await connection.execute("update receipts set state = 'uncertain', version = 2, cause = 'scan'")
    await connection.execute("insert into blocked_steps values ('t', 'pay:1', 'u', 1)")
    await connection.execute(
        "insert into set_aside_turns (thread_id, turn_id, revision, reason, detail, attempts, digest, fence, origin_topic,"
        " origin_partition, origin_offset, record_key, record_value, record_headers, record_timestamp_ms)"
        " values ('t', 'gone', 7, 'attempts_used_up', 'boom', 5, '\\x02', 1, 'turns.requests', 0, 1, 't', 'v', $1, 0)",
        pack_headers((("h", b"\xff"),)),
    )
    await connection.execute(
        "insert into rejected_requests (origin_topic, origin_partition, origin_offset, digest, reason, detail, record_key,"
        " record_value, record_headers, record_timestamp_ms)"
        " values ('turns.requests', 2, 9, '\\xabcdef0123456789', 'not_json', 'at the top', null, '\\xff00', $1, 0)",
        pack_headers(()),
    )


async def _said(database: str, *arguments: str) -> Said:
    return await intention_beside(*arguments, env=environment(database))


async def _json(database: str, *arguments: str) -> Any:
    said = await _said(database, *arguments)
    assert (said.code, said.err) == (0, "")
    return loads(said.out)


async def test_a_turn_is_shown_without_loss(database: str) -> None:
    shown = await _json(database, "turn", "show", "t", "u")
    assert shown["request"] == shown["result"] == shown["events"][0]["data"] == AWKWARD
    assert str(shown["request"]["minus"]) == "-0.0"
    assert (shown["state"], shown["status"], shown["revision"]) == ("committed", "blocked", 1)
    assert shown["requestedAt"] == "1970-01-01T00:00:01.500000Z"
    assert [receipt["receiptId"] for receipt in shown["receipts"]] == [RECEIPT]


async def test_a_turn_in_progress_and_one_set_aside_are_shown_as_such(database: str) -> None:
    running = await _json(database, "turn", "show", "t", "running")
    assert (running["state"], running["attempts"]) == ("in_progress", 2)
    aside = await _json(database, "turn", "show", "t", "gone")
    assert (aside["state"], aside["setAside"][0]["reason"]) == ("set_aside", "attempts_used_up")


async def test_a_thread_is_shown_with_its_memory_and_what_it_waits_for(database: str) -> None:
    shown = await _json(database, "thread", "show", "t")
    assert shown["checkpoint"]["future"] == AWKWARD
    assert shown["turnInProgress"]["turnId"] == "running"
    assert [receipt["state"] for receipt in shown["openReceipts"]] == ["uncertain"]
    assert [turn["turnId"] for turn in shown["lastTurns"]] == ["u"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("turn", "show", "t", "nothing"),
        ("thread", "show", "nothing"),
        ("receipts", "show", "0" * 32),
        ("rejected", "show", "t@8"),
    ],
)
async def test_what_is_not_there_is_exit_code_4(database: str, arguments: tuple[str, ...]) -> None:
    said = await _said(database, *arguments)
    assert (said.code, said.out) == (4, "")


async def test_receipts_are_listed_in_every_format(database: str) -> None:
    assert (await _said(database, "receipts", "ls", "-o", "ids")).lines == [RECEIPT]
    listed = await _json(database, "receipts", "ls", "--state", "uncertain", "-o", "json")
    assert (listed[0]["receiptId"], listed[0]["amount"]) == (RECEIPT, "12.50")
    assert await _json(database, "receipts", "ls", "--state", "uncertain", "-o", "jsonl") == listed[0]
    assert await _json(database, "receipts", "ls", "--state", "completed", "-o", "json") == []
    table = await _said(database, "receipts", "ls")
    assert RECEIPT in table.out
    assert "\x1b" not in table.out, "a title must not drive the terminal"


async def test_a_receipt_is_shown_with_its_history_and_who_waits(database: str) -> None:
    shown = await _json(database, "receipts", "show", RECEIPT)
    assert shown["payload"] == AWKWARD
    assert [transition["state"] for transition in shown["transitions"]] == ["prepared", "uncertain"]
    assert shown["waitingTurns"] == [{"turnId": "u", "revision": 1}]


async def test_both_kinds_of_refusals_are_listed_and_shown_byte_for_byte(database: str) -> None:
    ids = (await _said(database, "rejected", "ls", "-o", "ids")).lines
    assert set(ids) == {"t@7", "turns.requests/2/9/abcdef012345"}
    aside = await _json(database, "rejected", "show", "t@7")
    assert (aside["kind"], aside["reason"], aside["detail"]) == ("set_aside", "attempts_used_up", "boom")
    assert aside["record"]["headers"] == [["h", {"base64": "/w=="}]]
    request = await _json(database, "rejected", "show", "turns.requests/2/9/abcdef012345")
    assert request["record"]["value"] == {"base64": "/wA="}
    assert request["record"]["key"] is None


async def test_an_id_of_no_known_shape_is_a_usage_error(database: str) -> None:
    assert (await _said(database, "rejected", "show", "what")).code == 2
