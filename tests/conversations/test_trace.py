"""A turn's stored events as a tree and in three columns: real turns of FAN-7, made-up ones, and anything at all."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.contracts.event import rfc3339
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.reconciliation.masking_documents import masked_trace
from intention_kernel.reconciliation.trace import trace_document

from tests.fan7.talking import Talk

Document = dict[str, JsonValue]
START = datetime(2026, 1, 1, tzinfo=UTC)
RESERVE = "reserve 2 FILTER-A for FAN-7"
INPUT: Document = {"sku": "FILTER-A", "quantity": 2}


def _list(value: JsonValue) -> list[Document]:
    return cast("list[Document]", value)


def _events(talk: Talk, turn_id: str) -> list[JsonValue]:
    return [event for event in talk.durability.events("t") if event["turnId"] == turn_id]


def _outline(nodes: JsonValue, depth: int = 0) -> Iterator[tuple[int, JsonValue, JsonValue, JsonValue]]:
    """Depth, kind, name and status of all but what is an event alone."""
    for node in _list(nodes):
        if node["kind"] != "event":
            yield depth, node["kind"], node["name"], node["status"]
        yield from _outline(node["children"], depth + 1)


def _all_nodes(nodes: JsonValue) -> Iterator[Document]:
    for node in _list(nodes):
        yield node
        yield from _all_nodes(node["children"])


def _told(*told: tuple[str, str | None, Document]) -> list[JsonValue]:
    """Events a second apart, each caused by the one before it."""
    return [
        {
            "id": f"e{number}",
            "type": kind,
            "sequence": number,
            "occurredAt": rfc3339(START + timedelta(seconds=number)),
            **({} if step is None else {"stepId": step}),
            **({"causationId": f"e{number - 1}"} if number else {}),
            "data": data,
        }
        for number, (kind, step, data) in enumerate(told)
    ]


AGENT = ("turn.started", None, cast("Document", {"attempt": 1, "checkpointRevision": 0}))


def _proposed(*intentions: Document) -> list[tuple[str, str | None, Document]]:
    proposal: Document = {"intentions": list[JsonValue](intentions)}
    return [
        ("model.invoked", None, {"task": "turn.interpret"}),
        ("model.completed", None, {"task": "turn.interpret", "proposal": proposal}),
    ]


def _intention(capability_id: str, asked: Document) -> Document:
    return {"objective": "o", "resolution": "resolved", "proposedCapability": capability_id, "input": asked}


def _step(step_id: str, capability_id: str, planned: Document, **more: JsonValue) -> Document:
    step: Document = {"id": step_id, "capabilityId": capability_id, "disposition": "execute", "trigger": "user"}
    return step | {"input": planned, "reason": {"code": "READY", "message": "m"}} | more


def _planned(*steps: Document) -> tuple[str, str | None, Document]:
    return "plan.created", None, {"steps": list[JsonValue](steps)}


def _ran(step_id: str, status: str = "completed", effect: str | None = None) -> list[tuple[str, str | None, Document]]:
    met: list[tuple[str, str | None, Document]] = []
    if effect is not None:
        met = [("effect.recorded", step_id, {"effectId": "r", "idempotencyKey": "k", "status": effect})]
    ending = {"completed": "capability.completed", "skipped": "capability.skipped", "blocked": "capability.blocked"}
    return [("step.started", step_id, {}), *met, (ending[status], step_id, {"status": status})]


async def test_fan7_is_a_tree_whose_plan_holds_its_steps_and_their_effects() -> None:
    talk = Talk()
    talk.inventory.loses = True
    await talk.say(RESERVE)
    blocked = await talk.turn("yes")
    receipt = blocked.blocked_on[0]
    asked, confirmed = trace_document(_events(talk, "turn-1")), trace_document(_events(talk, "turn-2"))
    models = [(0, "model", "capability.select", "completed"), (0, "model", "turn.interpret", "completed")]
    assert list(_outline(asked["tree"])) == [
        *models,
        (0, "plan", None, None),
        (1, "step", "inventory.work_order", "needs_dependency"),
    ]
    assert list(_outline(confirmed["tree"])) == [
        *models,
        (0, "model", "interaction-answer.review", "completed"),
        (0, "plan", None, None),
        (1, "step", "inventory.reserve", "blocked"),
        (2, "effect", "inventory.reserve:FAN-7", "uncertain"),
    ]
    [effect] = [node for node in _all_nodes(confirmed["tree"]) if node["kind"] == "effect"]
    assert effect["receiptId"] == receipt
    assert (confirmed["status"], confirmed["isProgram"], confirmed["attempt"]) == ("blocked", False, 1)


async def test_fan7_in_three_columns() -> None:
    """Proposed and asked about; confirmed and unknown; then known, met again, and the work order follows."""
    talk = Talk()
    talk.inventory.loses = True
    await talk.say(RESERVE)
    blocked = await talk.turn("yes")
    found: JsonValue = dict(talk.inventory.reserved["inventory.reserve:FAN-7"])  # type: ignore[arg-type]  # it is JSON
    await talk.durability.settle(blocked.blocked_on[0], "applied", found)
    await talk.go_on()
    turns = list(dict.fromkeys(str(event["turnId"]) for event in talk.durability.events("t")))
    rows = [_list(trace_document(_events(talk, turn))["comparison"]) for turn in turns]
    assert [[(row["state"], row["capabilityId"]) for row in of_turn] for of_turn in rows] == [
        [("altered_by_policy", "inventory.reserve"), ("as_planned", "inventory.work_order")],
        [("unknown", "inventory.reserve")],
        [("added_by_retry", "inventory.reserve"), ("carried_on", "inventory.work_order")],
    ]
    asked = cast("Document", rows[0][0]["plan"])
    assert (asked["asksConfirmation"], asked["changes"], rows[0][0]["happened"]) == (True, [], None)
    assert cast("Document", rows[0][0]["proposal"])["input"] == INPUT


async def test_what_a_receipt_says_now_outweighs_what_was_told_then() -> None:
    talk = Talk()
    talk.inventory.loses = True
    await talk.say(RESERVE)
    blocked = await talk.turn("yes")
    receipt: Document = {"receiptId": blocked.blocked_on[0], "state": "completed", "contradicted": False}
    events = _events(talk, "turn-2")
    states = [
        _list(trace_document(events, [receipt | more])["comparison"])[0]["state"]
        for more in (Document(), Document(state="uncertain"), Document(contradicted=True))
    ]
    assert states == ["carried_on", "unknown", "unknown"]


@pytest.mark.parametrize(
    ("told", "state", "changed"),
    [
        ([*_proposed(_intention("pay", INPUT)), _planned(_step("s", "pay", INPUT)), *_ran("s")], "as_planned", []),
        (
            [*_proposed(_intention("pay", INPUT)), _planned(_step("s", "pay", INPUT | {"quantity": 1})), *_ran("s")],
            "altered_by_policy",
            [{"path": "/quantity", "asked": True, "proposed": 2, "planned": 1}],
        ),
        (
            [*_proposed(_intention("pay", INPUT)), _planned(_step("s", "pay", INPUT | {"note": "n"})), *_ran("s")],
            "as_planned",
            [{"path": "/note", "asked": False, "proposed": None, "planned": "n"}],
        ),
        (
            [*_proposed(_intention("pay", INPUT)), _planned(_step("s", "pay", INPUT, disposition="reject"))],
            "dropped",
            [],
        ),
        (
            [*_proposed(_intention("pay", INPUT)), _planned(_step("s", "pay", INPUT)), *_ran("s", "skipped")],
            "dropped",
            [],
        ),
        ([*_proposed(_intention("pay", INPUT)), _planned(_step("s", "pay", INPUT))], "unknown", []),
        (
            [*_proposed(_intention("pay", INPUT)), _planned(_step("s", "pay", INPUT)), *_ran("s", effect="uncertain")],
            "unknown",
            [],
        ),
        ([_planned(_step("s", "pay", INPUT, trigger="dependency")), *_ran("s")], "carried_on", []),
    ],
)
def test_a_row_says_what_became_of_a_call(
    told: list[tuple[str, str | None, Document]], state: str, changed: list[JsonValue]
) -> None:
    [row] = _list(trace_document(_told(AGENT, *told))["comparison"])
    assert row["state"] == state
    assert cast("Document", row["plan"])["changes"] == changed


def test_proposals_without_a_step_and_steps_without_a_plan_have_rows_of_their_own() -> None:
    proposals = _proposed(_intention("pay", {"n": 1}), _intention("pay", {"n": 2}), _intention("gone", {}))
    events = _told(AGENT, *proposals, _planned(_step("s", "pay", {"n": 2})), *_ran("s"), *_ran("met-again"))
    rows = _list(trace_document(events)["comparison"])
    assert [(row["state"], row["stepId"]) for row in rows] == [
        ("as_planned", "s"),
        ("dropped", None),
        ("dropped", None),
        ("added_by_retry", "met-again"),
    ]
    assert [cast("Document", row["proposal"])["input"] for row in rows[1:3]] == [{"n": 1}, {}]


def test_a_repaired_proposal_is_the_last_one() -> None:
    events = _told(AGENT, *_proposed(_intention("wrong", {})), *_proposed(_intention("pay", INPUT)))
    [row] = _list(trace_document(events)["comparison"])
    assert (row["capabilityId"], row["state"]) == ("pay", "dropped")


def test_times_are_of_the_spans_and_from_the_turns_begin() -> None:
    events = _told(AGENT, *_proposed(), _planned(_step("s", "pay", {})), *_ran("s", effect="completed"))
    document = trace_document(events)
    spans = {node["kind"]: (node["offsetMs"], node["durationMs"]) for node in _all_nodes(document["tree"])}
    assert document["durationMs"] == 6000.0
    assert (spans["model"], spans["step"], spans["effect"]) == ((1000.0, 1000.0), (4000.0, 2000.0), (5000.0, 0.0))


def test_a_call_of_a_model_that_never_ended_has_no_duration() -> None:
    [_, node] = _list(trace_document(_told(AGENT, ("model.invoked", None, {"task": "t"})))["tree"])
    assert (node["durationMs"], node["status"], node["result"]) == (None, None, None)


def test_a_program_has_what_happened_alone_whatever_it_calls_its_events() -> None:
    """Its receipts are all that the kernel knows of it: a plan that it tells in the kernel's words is none."""
    receipt: Document = {"receiptId": "r", "effectKey": "k", "state": "completed", "contradicted": False}
    events = _told(("turn.started", None, {"attempt": 1}), _planned(_step("s", "pay", {})), *_ran("s"))
    document = trace_document(events, [receipt, receipt | {"receiptId": "q", "state": "prepared"}])
    rows = _list(document["comparison"])
    assert document["isProgram"] is True
    assert [(row["state"], row["proposal"], row["plan"]) for row in rows] == [
        ("no_plan", None, None),
        ("unknown", None, None),
    ]
    assert [node["kind"] for node in _list(document["tree"])] == ["event"] * 4


TYPES = [
    "turn.started",
    "model.invoked",
    "model.completed",
    "model.failed",
    "intention.interpreted",
    "plan.created",
    "step.started",
    "step.deferred",
    "capability.invoked",
    "capability.event",
    "effect.recorded",
    "capability.completed",
    "capability.skipped",
    "turn.completed",
    "mine",
]
_SMALL = st.sampled_from(["a", "b", "c"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | _SMALL,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def _maybe(likely: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    return st.one_of(likely, likely, likely, ANYTHING)


def _some(members: dict[str, st.SearchStrategy[JsonValue]]) -> st.SearchStrategy[JsonValue]:
    return cast("st.SearchStrategy[JsonValue]", st.fixed_dictionaries({}, optional=members))


_STEP = _maybe(
    _some(
        {
            "id": _maybe(_SMALL),
            "capabilityId": _maybe(_SMALL),
            "input": ANYTHING,
            "trigger": _maybe(st.sampled_from(["user", "reconciliation"])),
            "disposition": _maybe(st.sampled_from(["execute", "defer", "reject"])),
            "reason": ANYTHING,
        }
    )
)
_INTENTIONS = _maybe(st.lists(_maybe(_some({"proposedCapability": _maybe(_SMALL), "input": ANYTHING})), max_size=3))
_DATA = _maybe(
    _some(
        {
            "checkpointRevision": ANYTHING,
            "proposal": _maybe(_some({"intentions": _INTENTIONS})),
            "intentions": _INTENTIONS,
            "steps": _maybe(st.lists(_STEP, max_size=3)),
            "status": _maybe(st.sampled_from(["completed", "skipped"])),
            "effectId": _maybe(_SMALL),
            "idempotencyKey": ANYTHING,
            "usage": ANYTHING,
            "issue": ANYTHING,
        }
    )
)
EVENTS = st.lists(
    _maybe(
        _some(
            {
                "id": _maybe(_SMALL),
                "type": _maybe(st.sampled_from(TYPES)),
                "sequence": ANYTHING,
                "occurredAt": st.one_of(
                    ANYTHING, st.datetimes().map(lambda at: at.isoformat()), st.just("0001-01-01T00:00:00+14:00")
                ),
                "stepId": _maybe(_SMALL),
                "causationId": _maybe(_SMALL),
                "data": _DATA,
            }
        )
    ),
    max_size=12,
)
_BEGUN: JsonValue = {"type": "turn.started", "data": {"checkpointRevision": 1}}
RECEIPTS = st.lists(_some({"receiptId": _maybe(_SMALL), "state": ANYTHING}), max_size=3)


@given(EVENTS, RECEIPTS, st.booleans())
def test_any_stored_events_make_a_document_that_holds_each_of_them(
    events: list[JsonValue], receipts: list[JsonValue], of_an_agent: bool
) -> None:
    """The document is JSON, masks, and no event is lost: each is a node's, its end, or the turn of a step."""
    stored = [_BEGUN, *events] if of_an_agent else events
    document = trace_document(stored, cast("list[Document]", receipts))
    assert loads(dumps(document)) == document
    dumps(masked_trace(document))
    nodes = list(_all_nodes(document["tree"]))
    ended = sum(node["kind"] in ("model", "step") for node in nodes)
    within = sum(isinstance(event, dict) and event.get("type") == "capability.invoked" for event in stored)
    again = sum(isinstance(event, dict) and event.get("type") in TYPES[11:13] for event in stored)
    assert len(nodes) <= len(stored) <= len(nodes) + ended + within + again
