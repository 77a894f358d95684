"""What every Redrives does. Subclass it beside a fixture `boundary`, a BoundaryHarness."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from intention_kernel.contracts.identifiers import continuation_turn_id
from intention_kernel.ids import random_id, receipt_id
from intention_kernel.ports.redrives import (
    ClaimedReceipt,
    Dropped,
    NoSuchRecord,
    NotOpen,
    ReceiptsOpen,
    RecordRedriven,
    RejectedRef,
    Ruling,
    SetAsideRef,
    TurnRedriven,
    Unsendable,
    WouldRunLate,
)
from intention_kernel.ports.turn_store import AlreadySetAside, Begun, Committed, Conflict, JournalEntry, SetAside
from intention_kernel.testing.boundary_calls import (
    begin_of,
    begun,
    claim,
    commit_of,
    committed,
    digest_of,
    end_of,
    event_records,
    new_thread,
    outcome_line,
    prepare_of,
    prepared,
    recorded_line,
    rejection_of,
    set_aside_of,
)
from intention_kernel.testing.boundary_harness import BoundaryHarness, StoredItem, StoredOutboxRow, snapshot
from intention_kernel.testing.rejection_contract import new_origin

KEY = "reserve:1"
REQUEST = b'{ "the request":\t1 }'


class RedrivesContract:
    """A turn that was given up runs again when a person says so, and a record that was refused is judged again."""

    async def test_a_redriven_turn_runs_again_with_the_request_as_it_came(self, boundary: BoundaryHarness) -> None:
        """R33: the row is redriven, the bytes are in the outbox, the line in the audit log, and begin takes the turn."""
        store, thread = boundary.store, new_thread()
        await given_up(boundary, thread)
        order = ruling()
        answer = await boundary.redrives.redrive_turn(SetAsideRef(thread, 1), order, after_later_turns=False)
        assert isinstance(answer, TurnRedriven)
        assert (answer.view.turn_id, answer.view.later_count, answer.view.receipts) == ("turn-1", 0, ())
        assert not answer.view.is_rebased
        [row] = requests(await boundary.outbox(thread))
        assert [record.value for record in row.records] == [REQUEST]
        assert await boundary.audited(thread) == (("ana", "redrive"),)
        again = await begun(store, thread, "turn-1")
        assert (again.revision, again.next_sequence, again.attempt) == (1, 2, 1)
        await committed(store, commit_of(thread, "turn-1", again))

    async def test_a_redrive_is_made_once(self, boundary: BoundaryHarness) -> None:
        """R11, R33: the repeat of a lost answer is told the same; another decision finds it redriven."""
        thread = new_thread()
        await given_up(boundary, thread)
        ref, order = SetAsideRef(thread, 1), ruling()
        first = await boundary.redrives.redrive_turn(ref, order, after_later_turns=False)
        before = await snapshot(boundary, thread)
        assert await boundary.redrives.redrive_turn(ref, order, after_later_turns=False) == first
        assert await boundary.redrives.redrive_turn(ref, ruling(), after_later_turns=False) == NotOpen("redriven")
        assert await boundary.redrives.drop_turn(ref, ruling()) == NotOpen("redriven")
        assert await snapshot(boundary, thread) == before
        assert await boundary.audited(thread) == (("ana", "redrive"),)

    async def test_a_look_changes_nothing(self, boundary: BoundaryHarness) -> None:
        """R33: a person sees what the redrive would answer, and why, before it is made."""
        thread = new_thread()
        await given_up(boundary, thread)
        before = await snapshot(boundary, thread)
        answer = await boundary.redrives.redrive_turn(
            SetAsideRef(thread, 1), ruling(), after_later_turns=False, look_only=True
        )
        assert isinstance(answer, TurnRedriven)
        assert await snapshot(boundary, thread) == before
        assert await boundary.audited(thread) == ()
        assert isinstance(await boundary.store.begin(begin_of(thread, "turn-1")), AlreadySetAside)

    async def test_a_turn_is_not_redriven_while_a_receipt_of_it_is_open(self, boundary: BoundaryHarness) -> None:
        """R33: prepared, then uncertain, then settled."""
        store, thread = boundary.store, new_thread()
        attempt = await begun(store, thread, "turn-1")
        await prepared(store, thread, "turn-1", attempt.fence)
        await store.set_aside(aside_of(thread, "turn-1", attempt))
        for state in ("prepared", "uncertain"):
            answer = await redriven(boundary, thread, 1)
            assert isinstance(answer, ReceiptsOpen), answer
            assert [(receipt.effect_key, receipt.state) for receipt in answer.view.receipts] == [(KEY, state)]
            await boundary.scan()
        assert await boundary.settle(receipt_id(thread, KEY), 2, "completed", b"{}")
        assert isinstance(await redriven(boundary, thread, 1), TurnRedriven)

    async def test_a_turn_is_not_redriven_while_a_receipt_of_it_is_contradicted(
        self, boundary: BoundaryHarness
    ) -> None:
        """R25, R33: it counts as uncertain."""
        store, thread = boundary.store, new_thread()
        attempt = await begun(store, thread, "turn-1")
        ask = await prepared(store, thread, "turn-1", attempt.fence)
        await store.end(end_of(ask, "uncertain"))
        await store.set_aside(aside_of(thread, "turn-1", attempt))
        await boundary.settle(receipt_id(thread, KEY), 2, "failed", None)
        await store.end(end_of(ask, "completed"))
        answer = await redriven(boundary, thread, 1)
        assert isinstance(answer, ReceiptsOpen)
        assert answer.view.receipts == (ClaimedReceipt(receipt_id(thread, KEY), KEY, "failed", contradicted=True),)

    async def test_a_turn_whose_thread_went_on_is_redriven_only_if_that_is_meant(
        self, boundary: BoundaryHarness
    ) -> None:
        """R33: the person is shown the turns that came later."""
        store, thread = boundary.store, new_thread()
        await given_up(boundary, thread)
        await committed(store, commit_of(thread, "turn-2", await begun(store, thread, "turn-2")))
        before = await snapshot(boundary, thread)
        answer = await boundary.redrives.redrive_turn(SetAsideRef(thread, 1), ruling(), after_later_turns=False)
        assert isinstance(answer, WouldRunLate)
        assert (answer.view.later_count, answer.view.later_turns, answer.view.is_rebased) == (1, ("turn-2",), True)
        assert await snapshot(boundary, thread) == before
        assert isinstance(await redriven(boundary, thread, 1, after_later_turns=True), TurnRedriven)
        await committed(store, commit_of(thread, "turn-1", await begun(store, thread, "turn-1")))
        assert [turn.turn_id for turn in await boundary.turns(thread)] == ["turn-2", "turn-1"]

    async def test_a_continuation_that_found_nobody_is_no_later_message(self, boundary: BoundaryHarness) -> None:
        """R30, R33: every settlement asks for one, so a turn that had to be settled first would always come late."""
        store, thread = boundary.store, new_thread()
        await committed(store, commit_of(thread, "turn-0", await begun(store, thread, "turn-0")))
        attempt = await begun(store, thread, "turn-1")
        await store.end(end_of(await prepared(store, thread, "turn-1", attempt.fence), "uncertain"))
        await store.set_aside(aside_of(thread, "turn-1", attempt))
        await boundary.settle(receipt_id(thread, KEY), 2, "completed", b"{}")
        name = continuation_turn_id(receipt_id(thread, KEY), 1, 1)
        await committed(store, commit_of(thread, name, await begun(store, thread, name)))
        answer = await redriven(boundary, thread, 2)
        assert isinstance(answer, TurnRedriven)
        assert (answer.view.later_turns, answer.view.is_rebased) == ((name,), False)
        again = await begun(store, thread, "turn-1")
        assert outcome_line(KEY, "uncertain") in again.journal

    async def test_a_redriven_turn_replays_its_journal_on_the_memory_that_it_was_written_on(
        self, boundary: BoundaryHarness
    ) -> None:
        """R16, R17, R33: it sees what its attempts saw, at their time."""
        thread = new_thread()
        earlier = await given_up_with_journal(boundary, thread)
        assert isinstance(await redriven(boundary, thread, 1), TurnRedriven)
        again = await begun(boundary.store, thread, "turn-1")
        assert set(again.journal) == set(earlier)
        assert again.requested_at_ms is not None

    async def test_on_another_memory_a_redriven_turn_keeps_only_what_it_has_to_meet(
        self, boundary: BoundaryHarness
    ) -> None:
        """R15, R33: the journal of another base revision is dropped, but an effect that happened has to be met."""
        store, thread = boundary.store, new_thread()
        await given_up_with_journal(boundary, thread)
        await committed(store, commit_of(thread, "turn-2", await begun(store, thread, "turn-2")))
        assert isinstance(await redriven(boundary, thread, 1, after_later_turns=True), TurnRedriven)
        again = await begun(store, thread, "turn-1")
        assert again.journal == (claim(KEY),)
        assert await boundary.journal(thread, "turn-1") == (claim(KEY),)

    async def test_a_turn_that_commits_after_the_redrive_makes_the_journal_anothers_too(
        self, boundary: BoundaryHarness
    ) -> None:
        """R33: what was in the lane before the redriven request runs before it, so begin is who knows the base."""
        store, thread = boundary.store, new_thread()
        await given_up_with_journal(boundary, thread)
        assert isinstance(await redriven(boundary, thread, 1), TurnRedriven)
        await committed(store, commit_of(thread, "turn-2", await begun(store, thread, "turn-2")))
        assert (await begun(store, thread, "turn-1")).journal == (claim(KEY),)

    async def test_what_a_redriven_attempt_records_is_replayed_to_the_next(self, boundary: BoundaryHarness) -> None:
        """R16, R33: dropped once, at its first begin, and never what came after."""
        store, thread = boundary.store, new_thread()
        await given_up_with_journal(boundary, thread)
        await committed(store, commit_of(thread, "turn-2", await begun(store, thread, "turn-2")))
        await redriven(boundary, thread, 1, after_later_turns=True)
        again = await begun(store, thread, "turn-1")
        asked = recorded_line("model", b"another answer")
        ask = replace(prepare_of(thread, "turn-1", again.fence, "2"), journal=(asked, claim("reserve:2")))
        await store.prepare(ask)
        await boundary.expire_lease(thread)
        retry = await begun(store, thread, "turn-1")
        assert set(retry.journal) == {claim(KEY), asked, claim("reserve:2")}

    async def test_a_redriven_turn_that_is_set_aside_again_opens_anew(self, boundary: BoundaryHarness) -> None:
        """R33, R35: another row, another event under another number, nothing of the first is lost; and again redriven."""
        store, thread = boundary.store, new_thread()
        await given_up(boundary, thread)
        await redriven(boundary, thread, 1)
        second = await begun(store, thread, "turn-1")
        assert await store.set_aside(aside_of(thread, "turn-1", second)) == Committed(2)
        assert isinstance(await store.begin(begin_of(thread, "turn-1")), AlreadySetAside)
        assert await boundary.redrives.redrive_turn(SetAsideRef(thread, 1), ruling(), after_later_turns=False) == (
            NotOpen("redriven")
        )
        assert isinstance(await redriven(boundary, thread, 2), TurnRedriven)
        await committed(store, commit_of(thread, "turn-1", await begun(store, thread, "turn-1")))
        rows = [row for row in await boundary.outbox(thread) if row.topic == "turns.events"]
        assert [row.dedupe for row in rows] == ["1", "2", "3"]
        assert tuple(record for row in rows for record in row.records) == event_records(thread, 1, 4)
        assert [row.dedupe for row in requests(await boundary.outbox(thread))] == ["redrive:1", "redrive:2"]

    async def test_other_content_under_a_redriven_turn_id_is_a_conflict(self, boundary: BoundaryHarness) -> None:
        """R7, R33: the id belongs to what was set aside, also while its request is on its way again."""
        thread = new_thread()
        await given_up(boundary, thread)
        await redriven(boundary, thread, 1)
        assert isinstance(await boundary.store.begin(begin_of(thread, "turn-1", "other")), Conflict)
        assert isinstance(await boundary.store.begin(begin_of(thread, "turn-1")), Begun)

    async def test_a_dropped_turn_is_given_up_for_ever(self, boundary: BoundaryHarness) -> None:
        """R33: a redelivery runs nothing, nothing redrives it, its journal is gone and the line is in the audit log."""
        thread = new_thread()
        await given_up_with_journal(boundary, thread)
        ref, order = SetAsideRef(thread, 1), ruling()
        for _ in range(2):
            assert await boundary.redrives.drop_turn(ref, order) == Dropped()
        assert isinstance(await boundary.store.begin(begin_of(thread, "turn-1")), AlreadySetAside)
        assert await boundary.redrives.redrive_turn(ref, ruling(), after_later_turns=True) == NotOpen("dropped")
        assert await boundary.journal(thread, "turn-1") == ()
        assert requests(await boundary.outbox(thread)) == []
        assert await boundary.audited(thread) == (("ana", "drop"),)

    async def test_an_orphaned_item_is_over_once_its_turn_is_redriven_or_dropped(
        self, boundary: BoundaryHarness
    ) -> None:
        """R32, R33: and open again where the turn is set aside again, with the same receipt in its hands."""
        store, thread = boundary.store, new_thread()
        await given_up_with_journal(boundary, thread)
        assert await orphaned(boundary, thread) == [(1, "open")]
        await redriven(boundary, thread, 1)
        assert await orphaned(boundary, thread) == [(1, "done")]
        await store.set_aside(aside_of(thread, "turn-1", await begun(store, thread, "turn-1")))
        assert await orphaned(boundary, thread) == [(1, "open")]
        await boundary.redrives.drop_turn(SetAsideRef(thread, 2), ruling())
        assert await orphaned(boundary, thread) == [(1, "done")]

    async def test_what_is_not_there_is_told(self, boundary: BoundaryHarness) -> None:
        """R33: a thread without that revision, and a record that was never rejected."""
        thread = new_thread()
        await given_up(boundary, thread)
        assert await redriven(boundary, thread, 2) == NoSuchRecord()
        assert await boundary.redrives.drop_turn(SetAsideRef(new_thread(), 1), ruling()) == NoSuchRecord()
        ref = RejectedRef("turns.requests", 1, 7, digest_of("never"))
        assert await boundary.redrives.redrive_record(ref, ruling()) == NoSuchRecord()
        assert await boundary.redrives.drop_record(ref, ruling()) == NoSuchRecord()

    async def test_a_rejected_record_is_sent_again_as_it_came(self, boundary: BoundaryHarness) -> None:
        """R33, R34: the same bytes under the same key, once, to be judged by the build that runs now."""
        thread = new_thread()
        ref = await rejected(boundary, thread, key=thread.encode(), value=b"\x00\xff{")
        order = ruling()
        assert await boundary.redrives.redrive_record(ref, ruling(), look_only=True) == RecordRedriven()
        assert requests(await boundary.outbox(thread)) == []
        for _ in range(2):
            assert await boundary.redrives.redrive_record(ref, order) == RecordRedriven()
        [row] = requests(await boundary.outbox(thread))
        assert [record.value for record in row.records] == [b"\x00\xff{"]
        assert await boundary.redrives.redrive_record(ref, ruling()) == NotOpen("redriven")
        assert await boundary.redrives.drop_record(ref, ruling()) == NotOpen("redriven")
        assert await boundary.audited(thread) == (("ana", "redrive"),)

    async def test_a_record_that_no_build_would_take_is_not_sent_again(self, boundary: BoundaryHarness) -> None:
        """R34, interface 2: a request has a value, and the UTF-8 of its thread id as its key."""
        for key, value in ((None, b"{}"), (b"\xff", b"{}"), (b"a\x00b", b"{}"), (b"x" * 600, b"{}"), (b"thread", None)):
            thread = new_thread()
            ref = await rejected(boundary, thread, key=key, value=value)
            assert isinstance(await boundary.redrives.redrive_record(ref, ruling()), Unsendable)
            assert await boundary.redrives.drop_record(ref, ruling()) == Dropped()
            assert await boundary.audited(thread) == (("ana", "drop"),)

    async def test_a_rejected_decision_is_sent_again_to_its_own_topic(self, boundary: BoundaryHarness) -> None:
        """R33, R34, interface 2: the same bytes, whatever its key was; without a value there is nothing to send."""
        for key in (b"any", None, b"\xff"):
            ref = await rejected(boundary, new_thread(), key=key, value=b"{ }", topic="here.receipts.resolutions")
            assert await boundary.redrives.redrive_record(ref, ruling()) == RecordRedriven()
            sent_under = "any" if key == b"any" else ref.digest.hex()
            rows = [row for row in await boundary.outbox(sent_under) if f":{ref.partition}:" in row.dedupe]
            assert [row.topic for row in rows if row.dedupe.startswith("redrive:")] == ["receipts.resolutions"]
            assert [record.value for row in rows for record in row.records if row.topic != "turns.rejected"] == [b"{ }"]
        empty = await rejected(boundary, new_thread(), key=b"any", value=None, topic="receipts.resolutions")
        assert isinstance(await boundary.redrives.redrive_record(empty, ruling()), Unsendable)

    async def test_a_dropped_record_is_not_sent_again(self, boundary: BoundaryHarness) -> None:
        """R33."""
        thread = new_thread()
        ref, order = await rejected(boundary, thread, key=thread.encode(), value=b"["), ruling()
        for _ in range(2):
            assert await boundary.redrives.drop_record(ref, order) == Dropped()
        assert await boundary.redrives.redrive_record(ref, ruling()) == NotOpen("dropped")
        assert requests(await boundary.outbox(thread)) == []


def ruling() -> Ruling:
    """A decision that nobody made before."""
    return Ruling(random_id(), "ana", "the new build takes it")


def aside_of(thread_id: str, turn_id: str, attempt: Begun) -> SetAside:
    """Give that attempt's turn up; its request is REQUEST."""
    aside = set_aside_of(thread_id, turn_id, attempt)
    return replace(aside, origin=replace(aside.origin, value=REQUEST))


async def given_up(boundary: BoundaryHarness, thread_id: str) -> None:
    """The thread's first turn, `turn-1`, is set aside at revision 1; no memory was there."""
    aside = aside_of(thread_id, "turn-1", await begun(boundary.store, thread_id, "turn-1"))
    assert await boundary.store.set_aside(aside) == Committed(1)


async def given_up_with_journal(boundary: BoundaryHarness, thread_id: str) -> tuple[JournalEntry, ...]:
    """The same after an effect that completed; the journal that it left."""
    store = boundary.store
    attempt = await begun(store, thread_id, "turn-1")
    ask = prepare_of(thread_id, "turn-1", attempt.fence)
    await store.prepare(replace(ask, journal=(recorded_line("model", b"an answer"), *ask.journal)))
    await store.end(end_of(ask, "completed"))
    await store.set_aside(aside_of(thread_id, "turn-1", attempt))
    journal = await boundary.journal(thread_id, "turn-1")
    assert len(journal) == 3
    return journal


async def redriven(
    boundary: BoundaryHarness, thread_id: str, revision: int, *, after_later_turns: bool = False
) -> object:
    """The answer to a redrive by a decision of its own."""
    ref = SetAsideRef(thread_id, revision)
    return await boundary.redrives.redrive_turn(ref, ruling(), after_later_turns=after_later_turns)


async def rejected(
    boundary: BoundaryHarness, thread_id: str, *, key: bytes | None, value: bytes | None, topic: str = "turns.requests"
) -> RejectedRef:
    """A record of that thread that was refused."""
    origin = replace(new_origin(value=value), key=key, topic=topic)
    await boundary.store.reject(rejection_of(origin, thread_id))
    digest = hashlib.sha256(value or b"").digest()
    return RejectedRef(origin.topic, origin.partition, origin.offset, digest)


async def orphaned(boundary: BoundaryHarness, thread_id: str) -> list[tuple[int, str]]:
    """Number and phase of the orphaned items of KEY."""
    items: tuple[StoredItem, ...] = await boundary.items(thread_id, KEY)
    return [(item.settlement, item.phase) for item in items if item.kind == "orphaned"]


def requests(rows: tuple[StoredOutboxRow, ...]) -> list[StoredOutboxRow]:
    """Those for the request topic that a redrive made."""
    return [row for row in rows if row.topic == "turns.requests" and row.dedupe.startswith("redrive:")]
