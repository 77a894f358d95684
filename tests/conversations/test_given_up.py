"""Set-aside turns and rejected requests: pages, whose they are, and what people do about them, over the queue's pool."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ids import random_id
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.redrives import (
    Dropped,
    NoSuchRecord,
    NotOpen,
    RecordRedriven,
    Ruling,
    SetAsideRef,
    TurnRedriven,
    Unsendable,
)
from intention_kernel.reconciliation.given_up import (
    BadCursor,
    GivenUpPage,
    drop,
    find_given_up,
    list_given_up,
    outcome_document,
    redrive,
    ref_of,
)
from intention_kernel.reconciliation.masking_documents import masked_given_up
from intention_kernel.testing.boundary_calls import begun, commit_of, committed, origin_of, rejection_of, set_aside_of

from tests.conversations.bench import EVERYTHING, Bench, conversing

TENANT = Scope(tenants=frozenset({"tenant"}))
OTHERS = Scope(tenants=frozenset({"umbrella"}))


@pytest.fixture
async def bench(fresh_database: str) -> AsyncIterator[Bench]:
    """Thread `t` is the tenant's and a turn of it was set aside; `u` is nobody's yet, and a record was rejected."""
    async with conversing(fresh_database) as opened:
        await committed(opened.store, commit_of("t", "turn-1", await begun(opened.store, "t", "turn-1")))
        await _set_aside(opened, "t", "turn-2")
        await _set_aside(opened, "u", "turn-1")
        await opened.store.reject(rejection_of(origin_of(value=b'{"text": "secret words"}'), "t", "turn-9"))
        yield opened


async def _set_aside(bench: Bench, thread_id: str, turn_id: str) -> None:
    await bench.store.set_aside(set_aside_of(thread_id, turn_id, await begun(bench.store, thread_id, turn_id)))


async def _listed(bench: Bench, scope: Scope = EVERYTHING, limit: int = 200) -> list[JsonValue]:
    found: list[JsonValue] = []
    cursor: str | None = None
    while True:
        page = await list_given_up(bench.conversations, scope, cursor=cursor, limit=limit)
        assert isinstance(page, GivenUpPage)
        assert len(page.documents) <= limit
        found.extend(document["id"] for document in page.documents)
        if page.cursor is None:
            return found
        cursor = page.cursor


def _ruling(actor: str = "ana") -> Ruling:
    return Ruling(random_id(), actor, "the build is fixed")


async def _rejected_id(bench: Bench) -> str:
    [found] = [one for one in await _listed(bench) if str(one).startswith("turns.requests/")]
    return str(found)


async def test_what_was_given_up_is_the_threads_tenants_and_the_rest_nobodys(bench: Bench) -> None:
    """A record is rejected, too, because it names another tenant's thread: whose it is nobody knows."""
    everything = await _listed(bench)
    assert (len(everything), everything[1:]) == (3, ["u@1", "t@2"])
    assert await _listed(bench, TENANT) == ["t@2"]
    assert await _listed(bench, OTHERS) == []
    assert await _listed(bench, Scope(effects=frozenset({"some"}))) == everything


async def test_what_was_set_aside_before_a_thread_was_anybodys_stays_nobodys(bench: Bench) -> None:
    """Another tenant may have meant the same thread id: the first commit says whose the thread is, not whose that was."""
    await committed(bench.store, commit_of("u", "turn-2", await begun(bench.store, "u", "turn-2")))
    assert await _listed(bench, TENANT) == ["t@2"]
    assert await bench.conversations.turn("u", "turn-1", TENANT) is None
    assert (await bench.thread("u", TENANT))["setAside"] == []
    assert len(cast("list[JsonValue]", (await bench.thread("u"))["setAside"])) == 1
    assert await find_given_up(bench.conversations, "u@1", TENANT) is None
    assert await find_given_up(bench.conversations, "u@1", EVERYTHING) is not None


async def test_pages_neither_skip_nor_repeat_also_of_one_moment(bench: Bench) -> None:
    for number in range(7):
        await bench.store.reject(rejection_of(origin_of(100 + number)))
        await _set_aside(bench, "t", f"more-{number}")
    await bench.connection.execute(
        "update rejected_requests set at = '2026-01-01T00:00:00Z' where origin_offset <> 103"
    )
    await bench.connection.execute("update set_aside_turns set at = '2026-01-01T00:00:00Z' where revision <> 5")
    everything = await _listed(bench)
    assert len(set(everything)) == 17
    for limit in (1, 2, 5, 16, 17):
        assert await _listed(bench, limit=limit) == everything
    assert await _listed(bench, TENANT, limit=3) == [one for one in everything if str(one).startswith("t@")]


async def test_a_set_aside_turn_is_redriven_within_scope_and_on_record(bench: Bench) -> None:
    read, redrives = bench.conversations, bench.redrives
    assert await redrive(read, redrives, "t@2", OTHERS, _ruling()) == NoSuchRecord()
    assert await drop(read, redrives, "t@2", OTHERS, _ruling()) == NoSuchRecord()
    looked = await redrive(read, redrives, "t@2", TENANT, _ruling(), dry_run=True)
    assert isinstance(looked, TurnRedriven)
    assert outcome_document("t@2", looked, dry_run=True)["outcome"] == "would_redrive"
    assert await bench.audit() == []
    done = await redrive(read, redrives, "t@2", TENANT, _ruling("ben"))
    assert isinstance(done, TurnRedriven)
    assert outcome_document("t@2", done)["outcome"] == "redriven"
    assert await bench.audit() == [("ben", "redrive")]
    assert await redrive(read, redrives, "t@2", TENANT, _ruling()) == NotOpen("redriven")
    assert (await bench.turn("turn-2", scope=TENANT))["state"] == "redriven"


async def test_a_rejected_record_is_nobodys_to_redrive_but_of_those_who_see_all(bench: Bench) -> None:
    read, redrives, record = bench.conversations, bench.redrives, await _rejected_id(bench)
    assert await redrive(read, redrives, record, TENANT, _ruling()) == NoSuchRecord()
    assert await redrive(read, redrives, record, EVERYTHING, _ruling(), dry_run=True) == RecordRedriven()
    assert await bench.audit() == []
    assert await drop(read, redrives, record, EVERYTHING, _ruling()) == Dropped()
    assert await bench.audit() == [("ana", "drop")]
    assert await redrive(read, redrives, record, EVERYTHING, _ruling()) == NotOpen("dropped")


async def test_one_that_nobody_could_send_says_so(bench: Bench) -> None:
    await bench.connection.execute("update rejected_requests set record_key = null")
    answer = await redrive(bench.conversations, bench.redrives, await _rejected_id(bench), EVERYTHING, _ruling())
    assert isinstance(answer, Unsendable)
    assert outcome_document("x", answer)["outcome"] == "unsendable"


async def test_a_record_is_shown_with_its_bytes_and_masked_without(bench: Bench) -> None:
    found = await find_given_up(bench.conversations, await _rejected_id(bench), EVERYTHING)
    assert found is not None
    assert "secret words" in str(found.document)
    shown = masked_given_up(found.document)
    assert "secret words" not in str(shown)
    assert (shown["reason"], shown["id"]) == ("not_json", found.document["id"])


@pytest.mark.parametrize("cursor", ["", "x", "WzFd", "WzEsIngiLCJ5Il0", "WzEsIjIwMjYtMDEtMDEiLCJ5Il0", "é", "W" * 3000])
async def test_a_cursor_of_nobodys_is_refused(bench: Bench, cursor: str) -> None:
    assert await list_given_up(bench.conversations, EVERYTHING, cursor=cursor) == BadCursor()


@pytest.mark.parametrize(
    ("at", "place", "is_one"),
    [
        ("0001-01-01T00:00:00+00:01", "x", False),
        ("9999-12-31T23:59:59-00:01", "x", False),
        ("2026-01-01T12:00:00+00:00", "\0", True),
        ("2026-01-01T12:00:00+00:00", "\ud800", True),
    ],
)
async def test_a_written_cursor_is_one_or_none(bench: Bench, at: str, place: str, is_one: bool) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps([1, at, place]).encode()).decode().rstrip("=")
    answer = await list_given_up(bench.conversations, EVERYTHING, cursor=cursor)
    assert isinstance(answer, BadCursor) != is_one


@given(st.text())
def test_any_text_names_a_record_or_none(text: str) -> None:
    ref = ref_of(text)
    assert ref is None or "/" in text or "@" in text
    if isinstance(ref, SetAsideRef):
        assert ref_of(f"{ref.thread_id}@{ref.revision}") == ref


def test_an_id_that_holds_the_other_ones_marks_is_still_read() -> None:
    assert ref_of("a/1/2/ff@3") == SetAsideRef("a/1/2/ff", 3)
    assert ref_of("a@1@2") == SetAsideRef("a@1", 2)
    assert ref_of("t@-1") is None
