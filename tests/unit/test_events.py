"""The bytes of events, made once for both feeds, are those of the straightforward envelope (interface 2, design 6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from intention_kernel.clock import ManualClock
from intention_kernel.contracts.digest import digest
from intention_kernel.contracts.event import (
    EventCategory,
    KernelEvent,
    WireRecord,
    encode_event,
    pack_records,
    rfc3339,
    unpack_records,
)
from intention_kernel.contracts.json_codec import MAX_DEPTH, JsonValue, dumps, loads
from intention_kernel.errors import JsonError, TurnLimitError
from intention_kernel.ids import DerivedIds, derived_id
from intention_kernel.runtime.events import (
    MAX_AUDIT_BYTES,
    EventIdentity,
    EventRecorder,
    Observers,
    publish_trace,
    render_events,
)

Headers = tuple[tuple[str, bytes], ...]

AT = datetime(2026, 7, 1, 9, 30, tzinfo=UTC)
PLAIN = EventIdentity("thread-1", "turn-1", "agent", "correlation-1")

names = st.text(max_size=12)  # without surrogates, which no header can hold
identities = st.builds(EventIdentity, names, names, names, names)
categories: st.SearchStrategy[EventCategory] = st.sampled_from(["trace", "audit", "integration"])
texts = st.text(st.sampled_from('a"\\\0\x7f\n\u2028é😀'), max_size=6) | st.sampled_from(["\ud800", '","data":null}'])
integers = st.integers() | st.sampled_from([2**63, 2**64, -(2**63) - 1, 10**40])
floats = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-0.0, 1e16, 5e-324])
data_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | integers | floats | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


class Kept:
    """Traces and a sink that keep what they get."""

    def __init__(self) -> None:
        self.traces: list[tuple[str, Headers, bytes]] = []
        self.shown: list[KernelEvent] = []

    def publish(self, thread_id: str, headers: Headers, value: bytes) -> None:
        self.traces.append((thread_id, headers, value))

    async def emit(self, event: KernelEvent) -> None:
        self.shown.append(event)


def event_of(identity: EventIdentity, ordinal: int, name: str, category: EventCategory, data: JsonValue) -> KernelEvent:
    """What a recorder with the time `AT` should say, spelled out."""
    return KernelEvent(
        id=derived_id("event", identity.thread_id, identity.turn_id, str(ordinal)),
        type=name,
        category=category,
        occurred_at=AT,
        thread_id=identity.thread_id,
        turn_id=identity.turn_id,
        agent_id=identity.agent_id,
        correlation_id=identity.correlation_id,
        data=data,
    )


def plain_headers(event: KernelEvent, **numbers: str) -> Headers:
    """CloudEvents binary mode, as interface 2 lists it."""
    headers = {
        "ce_specversion": "1.0",
        "ce_id": event.id,
        "ce_type": event.type,
        "ce_source": f"/agents/{event.agent_id}",
        "ce_subject": event.thread_id,
        "ce_time": rfc3339(event.occurred_at),
        **numbers,
        "content-type": "application/json",
    }
    return tuple((name, text.encode()) for name, text in headers.items())


def plain_record(event: KernelEvent, sequence: int, incarnation: str) -> WireRecord:
    headers = plain_headers(event, ce_sequence=str(sequence), ce_incarnation=incarnation)
    return WireRecord(headers, dumps(event.to_json(sequence=sequence)))


def plain_trace(event: KernelEvent, attempt: int) -> tuple[str, Headers, bytes]:
    return event.thread_id, plain_headers(event), dumps(event.to_json(sequence=None, attempt=attempt))


def recorder(observers: Observers, identity: EventIdentity = PLAIN, attempt: int = 1) -> EventRecorder:
    return EventRecorder(identity, attempt, observers, ManualClock(AT))


def rendered(recorder: EventRecorder) -> tuple[WireRecord, ...]:
    return unpack_records(recorder.render(1, "i").block)


def data_of(value: bytes | None) -> JsonValue:
    document = loads(value or b"")
    assert isinstance(document, dict)
    return document["data"]


def nested(depth: int) -> JsonValue:
    value: JsonValue = []
    for _ in range(depth - 1):
        value = [value]
    return value


@settings(max_examples=200)
@given(
    identities,
    st.lists(st.tuples(names, categories, data_values), max_size=4),
    st.integers(1, 2**63 - 1),
    st.integers(0, 9),
    names,
)
@example(
    PLAIN,
    [
        ("exact", "trace", {"big": 2**64, "half": "\ud800", "zero": -0.0}),
        ("nul", "audit", "\0"),
        ("null", "integration", None),
        ("deep", "trace", nested(MAX_DEPTH - 1)),
        ("quoted", "trace", {'","sequence":9,"data":"': ['","attempt":7']}),
    ],
    7,
    2,
    "incarnation",
)
async def test_recorded_events_and_their_traces_have_the_bytes_of_the_plain_envelope(
    identity: EventIdentity,
    emitted: list[tuple[str, EventCategory, JsonValue]],
    first_sequence: int,
    attempt: int,
    incarnation: str,
) -> None:
    """R36: numbered as often as commit asks for it, and each time the bytes are those of the dumped envelope."""
    kept = Kept()
    events = [event_of(identity, n, name, category, data) for n, (name, category, data) in enumerate(emitted)]
    recording = recorder(Observers(kept), identity, attempt)
    for name, category, data in emitted:
        await recording.emit(name, data, category)
    for first in (first_sequence, first_sequence + 5):
        plain = [plain_record(event, number, incarnation) for number, event in enumerate(events, first)]
        assert recording.render(first, incarnation).block == pack_records(plain)
        assert recording.render(first, incarnation) == render_events(events, first, incarnation)
        assert unpack_records(recording.render(first, incarnation).block) == tuple(plain)
    assert kept.traces == [plain_trace(event, attempt) for event in events]


@settings(max_examples=50)
@given(names, names, st.none() | names, st.none() | names, data_values)
def test_an_event_of_a_step_with_a_cause_has_the_bytes_of_the_plain_envelope(
    name: str, thread_id: str, step_id: str | None, causation_id: str | None, data: JsonValue
) -> None:
    event = KernelEvent("id", name, "trace", AT, thread_id, "turn", "agent", "c", data, step_id, causation_id)
    kept = Kept()
    publish_trace(kept, event, attempt=3)
    assert kept.traces == [plain_trace(event, 3)]
    assert encode_event(event).durable(8, "i") == plain_record(event, 8, "i")


async def test_what_a_program_does_to_its_data_after_emit_changes_nothing() -> None:
    kept = Kept()
    recording = recorder(Observers(kept, (kept,)))
    inner: list[JsonValue] = [1]
    data: dict[str, JsonValue] = {"lines": inner}
    await recording.emit("note", data)
    inner.append(object())  # type: ignore[arg-type]  # no JSON, and too late to matter
    data["more"] = True
    assert [data_of(record.value) for record in rendered(recording)] == [{"lines": [1]}]
    assert data_of(kept.traces[0][2]) == {"lines": [1]}
    assert kept.shown[0].data == {"lines": [1]}


async def test_what_a_sink_does_to_an_event_changes_neither_the_record_nor_the_programs_data() -> None:
    class Meddler:
        async def emit(self, event: KernelEvent) -> None:
            assert isinstance(event.data, dict)
            event.data.clear()
            raise RuntimeError("and it fails")

    data: JsonValue = {"order": 7}
    observers = Observers(Kept(), (Meddler(),))
    recording = recorder(observers)
    await recording.emit("note", data)
    assert [data_of(record.value) for record in rendered(recording)] == [data] == [{"order": 7}]
    assert observers.sink_failures.count == 1


async def test_sinks_get_the_event_that_is_recorded_after_redaction() -> None:
    kept = Kept()
    recording = recorder(Observers(kept, (kept,), lambda data: {"was": len(dumps(data))}))
    await recording.emit("paid", {"card": "4242"}, "integration")
    shown = event_of(PLAIN, 0, "paid", "integration", {"was": 15})
    assert kept.shown == [shown]
    assert kept.traces == [plain_trace(shown, 1)]
    assert rendered(recording) == (plain_record(shown, 1, "i"),)


async def test_redact_is_never_shown_what_is_not_json_and_what_it_returns_is_checked() -> None:
    asked: list[JsonValue] = []

    def redact(data: JsonValue) -> JsonValue:
        asked.append(data)
        return {"amount": float("nan")}

    recording = recorder(Observers(Kept(), redact=redact))
    with pytest.raises(JsonError, match="set is not a JSON type"):
        await recording.emit("note", {"tags": {1}})  # type: ignore[dict-item]
    assert asked == []
    with pytest.raises(JsonError, match="/data/amount: nan"):
        await recording.emit("note", {"amount": 1})
    assert asked == [{"amount": 1}]
    assert rendered(recording) == ()


@pytest.mark.parametrize(
    "data", [{"tags": {1}}, {"at": AT}, ("a",), float("inf"), {1: 2}, "\ud83d\ude00", nested(MAX_DEPTH)]
)
async def test_data_that_could_not_be_read_again_is_refused_and_leaves_no_event(data: JsonValue) -> None:
    """The envelope counts as one level: what is recorded can be read by `loads`."""
    kept = Kept()
    recording = recorder(Observers(kept, (kept,)))
    with pytest.raises(JsonError, match="/data"):
        await recording.emit("note", data)
    await recording.emit("fine", None)
    assert [loads(record.value or b"") for record in rendered(recording)] == [
        event_of(PLAIN, 0, "fine", "trace", None).to_json(sequence=1)
    ]
    assert len(kept.traces) == len(kept.shown) == 1


async def test_audit_data_over_its_bound_is_cut_to_its_digest_and_no_other_data_is() -> None:
    """Design 6: observation never makes a turn fail."""
    fits, large = "x" * (MAX_AUDIT_BYTES - 2), "x" * (MAX_AUDIT_BYTES - 1)
    kept = Kept()
    recording = recorder(Observers(kept, (kept,)))
    await recording.emit("audit.fits", fits, "audit")
    await recording.emit("audit.large", large, "audit")
    await recording.emit("other.large", large, "integration")
    cut = {"digest": digest(large).hex(), "bytes": MAX_AUDIT_BYTES + 1}
    assert [data_of(record.value) for record in rendered(recording)] == [fits, cut, large]
    assert [data_of(value) for _, _, value in kept.traces] == [fits, cut, large]
    assert [event.data for event in kept.shown] == [fits, cut, large]


async def test_an_event_that_the_broker_would_refuse_fails_the_render_by_a_single_byte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recording = recorder(Observers(Kept()))
    await recording.emit("note", {"text": "é" * 300})
    record = rendered(recording)[0]
    size_bytes = len(record.value or b"") + sum(len(name.encode()) + len(value) for name, value in record.headers)
    monkeypatch.setattr("intention_kernel.runtime.events.MAX_EVENT_BYTES", size_bytes)
    assert recording.render(1, "i").count == 1
    with pytest.raises(TurnLimitError, match=f"event note has {size_bytes + 2} bytes"):
        recording.render(10, "i")  # a digit more in the value, and one in the header


@given(st.datetimes(timezones=st.just(UTC)))
@example(AT)
@example(datetime(1, 1, 1, tzinfo=UTC))
@example(AT + timedelta(microseconds=1))
def test_a_time_is_written_with_all_its_microseconds_and_a_z(at: datetime) -> None:
    written = rfc3339(at)
    assert len(written) == len("2026-07-01T09:30:00.000000Z")
    assert written[-1] == "Z"
    assert datetime.fromisoformat(written[:-1]).replace(tzinfo=UTC) == at


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=5), max_size=3), st.text(max_size=5))
@example(["event", "thread-1", "turn-1"], "0")
def test_derived_ids_are_the_derived_id_of_their_parts(parts: list[str], last: str) -> None:
    ids = DerivedIds(*parts)
    assert ids.id(last) == derived_id(*parts, last) == ids.id(last)


def test_a_derived_id_stays_what_it_was() -> None:
    """R17: it is stored, and made again by later builds."""
    assert derived_id("event", "thread-1", "turn-1", "0") == "4360f0aaed11367de08e79458b5f1458"
    assert derived_id("a", "bc") != derived_id("ab", "c")
