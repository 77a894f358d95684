"""What the kernel goes on with by itself after a batch of steps (contract 2.11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from intention_kernel.agent.results import Completed, NeedsDependency
from intention_kernel.contracts.agenda import AgendaItem, DeferredChoiceAnswer
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.outcomes import StepOutcome
from intention_kernel.runtime.stages.state import KernelState, TurnView


@dataclass(frozen=True, slots=True)
class Activation:
    """A step to start. `key` identifies it within the turn: an activation runs once.

    dependency: the provider of a fact for `consumer_item_id`. resume: the agenda item `item_id`, whose facts are there now.
    """

    kind: Literal["dependency", "resume"]
    key: str
    intention: IntentionRequest
    item_id: str | None = None
    continuation: JsonValue = None
    deferred: DeferredChoiceAnswer | None = None
    consumer_item_id: str | None = None


def next_activation(
    view: TurnView, state: KernelState, outcomes: Sequence[StepOutcome], done: frozenset[str]
) -> Activation | None:
    """The next step to start by itself, None where there is none.

    `outcomes` are those of the latest batch and `state` what it was reduced to; `done` the keys of this turn so far.
    A provider that a step asked for comes first; then a waiting item whose facts are all there, one that waited for a fact
    of the latest batch before the oldest. An open question does not stand in the way: every item keeps its own.
    """
    candidates = (*_providers(state, outcomes), *_resumable(state, outcomes))
    return next((activation for activation in candidates if activation.key not in done), None)


def pending_provider(agenda: Sequence[AgendaItem], capability_id: str, consumer_item_id: str) -> AgendaItem | None:
    """Unfinished work of that capability, which will publish its facts: no second one is started beside it."""
    return next(
        (
            item
            for item in agenda
            if item.capability_id == capability_id
            and item.id != consumer_item_id
            and not item.completed_follow_up
            and (item.status != "blocked" or item.blocked is not None)
        ),
        None,
    )


def _providers(state: KernelState, outcomes: Sequence[StepOutcome]) -> Iterator[Activation]:
    published = _published(outcomes)
    for outcome in outcomes:
        needs, item_id = outcome.result, outcome.step.opens_item_id
        if not isinstance(needs, NeedsDependency) or state.item(item_id) is None:
            continue
        if needs.requirement.key in published or pending_provider(state.agenda, needs.provider_capability_id, item_id):
            continue
        key = f"dependency:{item_id}:{needs.requirement.key}"
        yield Activation("dependency", key, _provider_intention(key, outcome, needs), consumer_item_id=item_id)


def _provider_intention(key: str, outcome: StepOutcome, needs: NeedsDependency) -> IntentionRequest:
    return IntentionRequest(
        id=f"automatic:{key}",
        objective=f"{needs.requirement.type}, which is needed for: {outcome.step.intention.objective}",
        resolution="resolved",
        proposed_capability=needs.provider_capability_id,
        input=needs.provider_input,
        evidence=outcome.step.intention.evidence,
    )


def _resumable(state: KernelState, outcomes: Sequence[StepOutcome]) -> list[Activation]:
    ready = [
        item
        for item in state.agenda
        if item.status == "waiting_facts"
        and item.missing_facts
        and all(fact.key in state.facts for fact in item.missing_facts)
    ]
    fresh = _published(outcomes)
    first = [item for item in ready if any(fact.key in fresh for fact in item.missing_facts)]
    # What waits for a provider of its own wants a newer fact than the one that is there.
    others = [item for item in ready if item not in first and not any(map(state.item, item.dependencies))]
    return [_resumption(item) for item in (*first, *others)]


def _resumption(item: AgendaItem) -> Activation:
    waited_for = ",".join(sorted(fact.key for fact in item.missing_facts))
    return Activation(
        kind="resume",
        key=f"resume:{item.id}:{waited_for}",
        intention=item.intention,
        item_id=item.id,
        continuation=item.continuation,
        deferred=item.deferred_choice_answer,
    )


def _published(outcomes: Sequence[StepOutcome]) -> set[str]:
    return {fact.key for outcome in outcomes if isinstance(outcome.result, Completed) for fact in outcome.result.facts}
