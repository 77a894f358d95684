"""Questions that the kernel itself asks, and when a question is over (contract 2.8 and 8.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from intention_kernel.agent.schema import SchemaIssue
from intention_kernel.contracts.agenda import MissingFact
from intention_kernel.contracts.event import rfc3339
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.interactions import Interaction, InteractionOption
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.turn_plan import PlanStep, ReasonCode

YES = InteractionOption(id="yes", label="Yes", value=True)
NO = InteractionOption(id="no", label="No", value=False)

_PRIORITIES: dict[ReasonCode, int] = {
    "AMBIGUOUS_INTENTION": 100,
    "POLICY_REQUIRES_CLARIFICATION": 90,
    "INVALID_CAPABILITY_INPUT": 80,
    "MISSING_REQUIRED_FACTS": 70,
    "CONFIRMATION_REQUIRED": 60,
}


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose question it is, and under which id it is asked."""

    interaction_id: str
    capability_id: str


def which_of(interaction_id: str, intention: IntentionRequest) -> Interaction:
    """Which of the alternatives was meant. The next message is understood afresh, so no option leads anywhere."""
    options = tuple(
        InteractionOption(id=f"alternative-{number}", label=alternative, value=alternative)
        for number, alternative in enumerate(intention.alternatives, 1)
    )
    goal = f"Which of these did you mean: {'; '.join(intention.alternatives)}?"
    return Interaction(id=interaction_id, kind="clarification", goal=goal, options=options)


def what_input(owner: Owner, intention: IntentionRequest, issues: Iterable[SchemaIssue]) -> Interaction:
    """What is wrong with the details, and what they were."""
    found: list[JsonValue] = [{"path": issue.path, "message": issue.message} for issue in issues]
    return Interaction(
        id=owner.interaction_id,
        kind="clarification",
        capability_id=owner.capability_id,
        goal=f"Some details are missing or do not fit. Please give them again: {intention.objective}",
        payload={"issues": found, "proposedInput": intention.input},
    )


def which_facts(owner: Owner, missing: Iterable[MissingFact]) -> Interaction:
    """What has to be known first."""
    wanted = tuple(missing)
    return Interaction(
        id=owner.interaction_id,
        kind="input",
        capability_id=owner.capability_id,
        goal=f"Before I can go on I need this: {'; '.join(fact.description or fact.type for fact in wanted)}.",
        requested_facts=tuple(fact.type for fact in wanted),
    )


def may_i(owner: Owner, step: PlanStep, what: str, expires_seconds: float | None) -> Interaction:
    """The kernel's confirmation of `what`. `payload` is for display: what is carried out is the item's frozen step alone."""
    return Interaction(
        id=owner.interaction_id,
        kind="confirmation",
        capability_id=owner.capability_id,
        goal=f"Please confirm before I go on: {what}",
        options=(YES, NO),
        payload={"objective": step.intention.objective, "input": step.input},
        expires_seconds=expires_seconds,
    )


def primary(steps: Iterable[PlanStep]) -> Interaction | None:
    """The plan's own question: of the highest priority, the earliest of equals."""
    asking = [step for step in steps if step.question is not None]
    chosen = max(asking, key=lambda step: _PRIORITIES.get(step.reason.code, 0), default=None)
    return chosen.question if chosen is not None else None


def shown(interaction: Interaction, at: datetime) -> Interaction:
    """The question as it becomes the active one. Its time runs from the first turn that shows it: a question that nobody
    has seen does not expire."""
    if interaction.expires_seconds is None or interaction.expires_at is not None:
        return interaction
    try:
        expires = rfc3339(at + timedelta(seconds=interaction.expires_seconds))
    except OverflowError:
        return interaction  # later than any date: it does not expire
    return interaction.model_copy(update={"expires_at": expires})


def expired(interaction: Interaction | None, at: datetime) -> bool:
    """Whether its time is over at `at`."""
    if interaction is None or interaction.expires_at is None:
        return False
    return datetime.fromisoformat(interaction.expires_at) <= at
