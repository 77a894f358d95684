"""A conversation through plan, schedule, reduce and the automatic loop, with scripted batches and results and no models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from intention_kernel.agent.capability import FactDeclaration, FactRequirement
from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.agent.results import CapabilityResult, Completed
from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.facts import EvidenceRecord, FactCandidate, FactReference, Facts
from intention_kernel.contracts.intentions import (
    IntentionBatch,
    IntentionEvidence,
    IntentionRequest,
    LifecycleAction,
)
from intention_kernel.contracts.interactions import Interaction, InteractionAnswer
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.runtime.stages.interpretation import Interpretation
from intention_kernel.runtime.stages.outcomes import BlockedResult, Reduction, StepOutcome
from intention_kernel.runtime.stages.planning.activation import next_activation
from intention_kernel.runtime.stages.planning.plan import plan_activation, plan_turn
from intention_kernel.runtime.stages.planning.schedule import executable, next_round
from intention_kernel.runtime.stages.redactions import Redactions
from intention_kernel.runtime.stages.reducing.publish import published_facts
from intention_kernel.runtime.stages.reducing.reduce import reduce
from intention_kernel.runtime.stages.snapshot import ContextSnapshot
from intention_kernel.runtime.stages.state import KernelState, NewId, TurnView
from intention_kernel.runtime.stages.turn_plan import PlanStep, TurnPlan

from tests.support.kernel import AT

Result = CapabilityResult | BlockedResult
Script = Callable[[PlanStep], Result]
DONE = Completed(output={"note": ""})


def wants(
    capability_id: str | None,
    note: str = "",
    *,
    said: str = "please",
    objective: str | None = None,
    alternatives: tuple[str, ...] = (),
    **members: object,
) -> IntentionRequest:
    """An intention; without a capability it is unsupported, with alternatives ambiguous."""
    resolution = "ambiguous" if alternatives else "resolved" if capability_id else "unsupported"
    document: dict[str, object] = {
        "id": f"wants-{capability_id}-{note}",
        "objective": objective or f"{capability_id} {note}".strip(),
        "resolution": resolution,
        "proposed_capability": capability_id,
        "input": {"note": note},
        "evidence": (IntentionEvidence(text=said, meaning="it is wanted", message_index=0),),
        "alternatives": alternatives,
    }
    return IntentionRequest.model_validate(document | members)


def question(interaction_id: str, kind: str = "input", **members: object) -> Interaction:
    """A capability's question."""
    return Interaction.model_validate({"id": interaction_id, "kind": kind, "goal": f"{interaction_id}?"} | members)


def fact(
    fact_type: str, value: JsonValue = "known", *, depends_on: tuple[str, ...] = (), version: int = 1
) -> FactCandidate:
    """A fact that cites the evidence of `published`."""
    parents = tuple(FactReference(type=parent) for parent in depends_on)
    return FactCandidate(type=fact_type, version=version, value=value, evidence_ids=("seen",), depends_on=parents)


def published(*facts: FactCandidate, **members: object) -> Completed:
    """A completed result with these facts and one evidence."""
    seen = EvidenceRecord(id="seen", source="external", content="the provider said so")
    return replace(DONE, facts=facts, evidence=(seen,), **members)  # type: ignore[arg-type]


def declared(fact_type: str, **members: object) -> FactDeclaration:
    """That a capability provides the fact."""
    return FactDeclaration(fact_type, **members)  # type: ignore[arg-type]


def required(fact_type: str, **members: object) -> FactRequirement:
    """That a capability needs the fact."""
    return FactRequirement(fact_type, f"the {fact_type}", **members)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Batch:
    """One plan, what came of it, and what it was reduced to."""

    plan: TurnPlan
    outcomes: tuple[StepOutcome, ...]
    reduction: Reduction


@dataclass(frozen=True, slots=True)
class Turn:
    """All batches of a turn; the first is the message's own."""

    view: TurnView
    batches: tuple[Batch, ...]

    @property
    def plan(self) -> TurnPlan:
        return self.batches[0].plan

    @property
    def codes(self) -> list[tuple[str | None, str]]:
        """Capability and reason of every planned step, automatic ones too."""
        return [(s.capability_id, s.reason.code) for batch in self.batches for s in batch.plan.steps]

    @property
    def ran(self) -> list[PlanStep]:
        """Every step that ran."""
        return [outcome.step for batch in self.batches for outcome in batch.outcomes]

    @property
    def ended(self) -> dict[str, str]:
        """Why items are gone, by id."""
        return {end.item_id: end.reason for batch in self.batches for end in batch.reduction.ended}


@dataclass(slots=True)
class Talk:
    """A thread. `results` says what each capability answers: one result, or a function of the step; DONE where it is silent."""

    agent: CompiledAgent
    results: dict[str, Result | Script] = field(default_factory=dict)
    state: KernelState = field(default_factory=lambda: KernelState((), {}, (), None))
    at: datetime = AT
    turns: int = 0
    host_context: Mapping[str, JsonValue] = field(default_factory=dict)

    def say(
        self, *intentions: IntentionRequest, answer: object = ..., cancel: Sequence[str] = (), said: str = "ok"
    ) -> Turn:
        """One message. `answer` answers the open question, `said` are its words."""
        actions = tuple(LifecycleAction(kind="cancel_agenda_item", target_id=item, evidence="stop") for item in cancel)
        given = None
        if answer is not ...:
            open_id = self.state.interaction.id if self.state.interaction is not None else "none"
            given = InteractionAnswer.model_validate({"interaction_id": open_id, "value": answer, "evidence": said})
        return self.hear(IntentionBatch(answer_to_interaction=given, intentions=intentions, lifecycle_actions=actions))

    def hear(self, batch: IntentionBatch) -> Turn:
        """One message as it was interpreted."""
        self.turns += 1
        view = self._view()
        snapshot = ContextSnapshot(view, (), None, (), Redactions(), (), {})
        batches = [self._batch(view, plan_turn(snapshot, Interpretation("model", batch)))]
        done: set[str] = set()
        while activation := next_activation(view, self.state, batches[-1].outcomes, frozenset(done)):
            done.add(activation.key)
            assert len(done) < 64, "the automatic loop does not end"
            batches.append(self._batch(view, plan_activation(view, self.state, activation)))
        return Turn(view, tuple(batches))

    def later(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    def show(self, capability_id: str) -> None:
        """Make the question of that capability's item the open one."""
        self.state = replace(self.state, interaction=self.item(capability_id).interaction)

    def item(self, capability_id: str) -> AgendaItem:
        """The only agenda item of that capability."""
        (found,) = (item for item in self.state.agenda if item.capability_id == capability_id)
        return found

    @property
    def statuses(self) -> list[tuple[str | None, str]]:
        return [(item.capability_id, item.status) for item in self.state.agenda]

    @property
    def is_idle(self) -> bool:
        """Whether nothing is unfinished and nothing is asked."""
        return not self.state.agenda and self.state.interaction is None

    @property
    def asked(self) -> str | None:
        """Who owns the open question, None where there is none."""
        return self.state.interaction.capability_id if self.state.interaction is not None else None

    def resumed(self, plan: TurnPlan) -> Batch:
        """A turn whose plan is given, as a continuation's."""
        self.turns += 1
        return self._batch(self._view(), plan)

    def _batch(self, view: TurnView, plan: TurnPlan) -> Batch:
        outcomes = self._run(view, plan, self.state.facts)
        reduction = reduce(view, self.state, plan, outcomes)
        self.state = reloaded(reduction.state)
        return Batch(plan, outcomes, reduction)

    def _run(self, view: TurnView, plan: TurnPlan, facts: Facts) -> tuple[StepOutcome, ...]:
        steps = executable(plan.steps, left=64)
        done: dict[str, StepOutcome] = {}
        while not (found := next_round(self.agent, steps, done, facts)).is_empty:
            ran = found.skipped or [StepOutcome(s, self._result(s)) for s in (found.reads or found.writes[:1])]
            for outcome in ran:
                done[outcome.step.id] = outcome
                facts = published_facts(view, facts, outcome)
        return tuple(done[step.id] for step in steps)

    def _result(self, step: PlanStep) -> Result:
        scripted = self.results.get(step.capability_id or "", DONE)
        return scripted(step) if callable(scripted) else scripted

    def _view(self) -> TurnView:
        turn_id = f"turn-{self.turns}"
        return TurnView(
            self.agent,
            "thread",
            turn_id,
            None,
            "text",
            None,
            None,
            self.host_context,
            self.at,
            self.state,
            _ids(turn_id),
        )


def reloaded(state: KernelState) -> KernelState:
    """The state as it comes back from a stored checkpoint."""
    agenda = tuple(AgendaItem.from_json(loads(dumps(item.to_json()))) for item in state.agenda)
    stored = state.interaction
    interaction = Interaction.from_json(loads(dumps(stored.to_json()))) if stored is not None else None
    return replace(state, agenda=agenda, interaction=interaction)


def _ids(turn_id: str) -> NewId:
    counts: Counter[str] = Counter()

    def new_id(kind: str) -> str:
        counts[kind] += 1
        return f"{turn_id}-{kind}-{counts[kind]}"

    return new_id
