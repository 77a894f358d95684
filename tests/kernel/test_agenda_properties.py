"""Whatever is said, answered, cancelled and returned, in whatever order: consent, agenda, questions and facts keep their rules."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from intention_kernel.agent.results import (
    KEEP,
    CapabilityIssue,
    Completed,
    Failed,
    NeedsConfirmation,
    NeedsDependency,
    NeedsInput,
)
from intention_kernel.contracts.agenda import BlockedReceipt
from intention_kernel.contracts.facts import FactReference
from intention_kernel.contracts.intentions import IntentionBatch, IntentionRequest, LifecycleAction
from intention_kernel.contracts.interactions import Interaction, InteractionAnswer
from intention_kernel.contracts.json_codec import dumps
from intention_kernel.runtime.stages.outcomes import BlockedResult
from intention_kernel.runtime.stages.planning.replacement import MAX_AGENDA_ITEMS
from intention_kernel.runtime.stages.state import KernelState
from intention_kernel.runtime.stages.turn_plan import PlanStep

from tests.support.kernel import agent, capability, write
from tests.support.planning import Result, Talk, Turn, declared, fact, published, question, required, wants

AGENT = agent(
    capability("guest.find", provides=(declared("guest"),)),
    capability("stay.find", requires=(required("guest"),), provides=(declared("stay"),)),
    capability("tour.find", requires=(required("stay", resolution="runtime"),)),
    write("hotel.book", requires=(required("stay"),), expires_seconds=90),
    write("pay.charge"),
    write("car.rent", confirmation="capability"),
)
IDS = tuple(sorted(AGENT.capabilities))
FACTS = {"guest.find": "guest", "stay.find": "stay"}
notes = st.sampled_from(["a", "b"])
modes = st.sampled_from(["required", "optional"])
seconds = st.none() | st.just(60.0)


@st.composite
def questions(draw: st.DrawFn, kind: str | None = None) -> Interaction:
    kind = kind or draw(st.sampled_from(["input", "choice"]))
    members: dict[str, object] = {"mode": draw(modes), "expires_seconds": draw(seconds)}
    if kind == "choice":
        target = draw(st.sampled_from(IDS))
        members["options"] = [{"id": "go", "label": "Go", "value": "go", "target_capability_id": target}]
    return question(draw(st.sampled_from(["q1", "q2"])), kind, **members)


@st.composite
def results(draw: st.DrawFn, capability_id: str) -> Result:
    kinds = ["done", "ask", "fail", "fact", "needs"]
    if AGENT.capabilities[capability_id].definition.effect == "write":
        kinds.append("uncertain")
    if capability_id == "car.rent":
        kinds += ["confirm", "confirm"]
    match draw(st.sampled_from(kinds)):
        case "ask":
            return NeedsInput(draw(questions()), {"so": "far"})
        case "fail":
            return Failed(CapabilityIssue("NO", "No."))
        case "needs" if capability_id != "stay.find":
            return NeedsDependency(FactReference(type="stay"), "stay.find", {"note": "x"})
        case "uncertain":
            receipt = draw(st.sampled_from(["r1", "r2"]))
            return BlockedResult((BlockedReceipt(effect_key=f"{capability_id}:k", receipt_id=receipt, title="it"),))
        case "confirm":
            return NeedsConfirmation(draw(questions("confirmation")), {"note": "p"})
        case _:
            shown = draw(st.sampled_from([KEEP, None]) | questions())
            facts = (fact(FACTS[capability_id]),) if capability_id in FACTS else ()
            return published(*facts, interaction=shown)


@st.composite
def intentions(draw: st.DrawFn) -> IntentionRequest:
    if draw(st.integers(0, 9)) == 0:
        return wants(None, alternatives=("this", "that"))
    return wants(draw(st.sampled_from([*IDS, "gone.away"])), draw(notes))


class Machine:
    """One thread, with results drawn as they are asked for, and every rule checked after every turn."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.thread = Talk(AGENT)
        self.ran: list[PlanStep] = []
        for capability_id in IDS:
            self.thread.results[capability_id] = self._result

    def _result(self, step: PlanStep) -> Result:
        return self.data.draw(results(step.capability_id or ""), label=step.capability_id)

    def turn(self) -> None:
        thread, draw = self.thread, self.data.draw
        thread.later(draw(st.sampled_from([0, 0, 50])))
        before = thread.state
        turn = thread.hear(self._batch(before))
        check_agenda(before, thread.state, turn)
        check_question(thread)
        check_consent(before, turn)
        check_facts(thread.state)

    def _batch(self, state: KernelState) -> IntentionBatch:
        draw = self.data.draw
        answer = None
        if state.interaction is not None and draw(st.booleans()):
            value = draw(st.sampled_from([True, True, False, "go", "yes", 1]))
            answer = InteractionAnswer(interaction_id=state.interaction.id, value=value, evidence="ok")
        cancelled = draw(st.lists(st.sampled_from(state.agenda), max_size=1)) if state.agenda else []
        if draw(st.integers(0, 3)):
            cancelled = []
        actions = tuple(LifecycleAction(kind="cancel_agenda_item", target_id=i.id, evidence="no") for i in cancelled)
        said = tuple(draw(st.lists(intentions(), max_size=2)))
        return IntentionBatch(answer_to_interaction=answer, intentions=said, lifecycle_actions=actions)


def check_agenda(before: KernelState, after: KernelState, turn: Turn) -> None:
    """Nothing leaves without a reason that fits, nothing comes back, and there is a bound."""
    kept = {item.id for item in after.agenda}
    assert len(kept) == len(after.agenda) <= 2 * MAX_AGENDA_ITEMS
    for item in before.agenda:
        assert (item.id in kept) != (item.id in turn.ended), f"{item.id} left without a word"
    plan = turn.plan
    steps = {step.item_id or f"agenda:{step.id}": step for batch in turn.batches for step in batch.plan.steps}
    outcomes = {o.step.opens_item_id: o.result for batch in turn.batches for o in batch.outcomes}
    for item_id, reason in turn.ended.items():
        was = before.item(item_id)
        match reason:
            case "completed":
                assert isinstance(outcomes[item_id], Completed)
            case "cancelled":
                assert item_id in plan.cancelled_item_ids
            case "declined" | "expired" | "outdated" | "denied":
                follow_up = was is not None and was.completed_follow_up
                assert follow_up or steps[item_id].disposition == "reject"
            case "dismissed":
                assert was is None or was.completed_follow_up
        assert was is None or was.blocked is None, "a receipt that nobody can vouch for was forgotten"
    for item in after.agenda:
        known = set(item.dependencies) | set(item.owned_dependency_ids)
        assert known <= kept - {item.id}


def check_question(thread: Talk) -> None:
    """At most one is open; it belongs to an item, and where items wait with questions one of them is shown."""
    state = thread.state
    waiting = [item.interaction for item in state.agenda if item.interaction is not None]
    assert len({asked.id for asked in waiting}) == len(waiting)
    if state.interaction is None:
        assert waiting == []
    else:
        assert state.interaction in waiting
    for item in state.agenda:
        if item.status in ("waiting_input", "waiting_confirmation"):
            assert item.interaction is not None
        assert (item.frozen is not None) <= (item.status == "waiting_confirmation")


def check_consent(before: KernelState, turn: Turn) -> None:
    """No confirmed write runs but by a yes to its own open question, exactly as it was frozen, once."""
    for step in turn.ran:
        if step.capability_id not in ("hotel.book", "pay.charge"):
            continue
        item = before.item(step.item_id or "")
        assert item is not None
        assert item.frozen is not None
        assert before.interaction is not None
        assert item.interaction is not None
        assert item.interaction.id == before.interaction.id
        assert (step.id, step.input) == (item.frozen.step_id, item.frozen.input)
        assert turn.plan.answered_interaction_id == before.interaction.id
    assert len({step.id for step in turn.ran}) == len(turn.ran)


def check_facts(state: KernelState) -> None:
    """Each fact holds the evidence that it cites."""
    for key, record in state.facts.items():
        assert key == record.key
        assert {evidence.id for evidence in record.evidence} == set(record.evidence_ids)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_whatever_happens_agenda_questions_consent_and_facts_keep_their_rules(data: st.DataObject) -> None:
    machine = Machine(data)
    for _ in range(data.draw(st.integers(1, 8), label="turns")):
        machine.turn()


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_the_same_turns_make_the_same_state_byte_for_byte(data: st.DataObject) -> None:
    batches = [
        IntentionBatch(intentions=tuple(said))
        for said in data.draw(st.lists(st.lists(intentions(), max_size=2), max_size=4))
    ]
    script = {capability_id: data.draw(results(capability_id)) for capability_id in IDS}

    def run() -> bytes:
        thread = Talk(AGENT, dict(script))
        for batch in batches:
            thread.hear(batch)
        agenda = [item.to_json() for item in thread.state.agenda]
        return dumps([agenda, {key: record.to_json() for key, record in thread.state.facts.items()}])

    assert run() == run()


def test_a_thread_that_asks_for_more_and_more_stays_bounded() -> None:
    thread = Talk(AGENT)
    for number in range(40):
        answer = True if thread.state.interaction is not None else ...
        thread.results["pay.charge"] = NeedsInput(question(f"q{number}"))
        thread.say(*(wants("pay.charge", f"{number}-{i}") for i in range(5)), answer=answer)
    assert len(thread.state.agenda) == MAX_AGENDA_ITEMS
    before = thread.state
    assert replace(thread.say(wants("pay.charge", "more")).batches[-1].reduction.state) == before
