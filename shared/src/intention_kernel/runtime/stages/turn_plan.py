"""What a turn will do: steps with their disposition and reason (contract 2.8 and 3.11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intention_kernel.agent.capability import StepTrigger
from intention_kernel.contracts.agenda import FrozenStep, MissingFact
from intention_kernel.contracts.intentions import IntentionEvidence, IntentionRequest
from intention_kernel.contracts.interactions import Interaction, InteractionAnswer
from intention_kernel.contracts.json_codec import JsonValue

Disposition = Literal["execute", "defer", "clarify", "reject"]
ReasonCode = Literal[
    "AMBIGUOUS_INTENTION",
    "UNSUPPORTED_INTENTION",
    "CAPABILITY_NOT_REGISTERED",
    "CONFIRMATION_DECLINED",
    "CONFIRMATION_EXPIRED",
    "CONFIRMATION_OUTDATED",
    "QUESTION_EXPIRED",
    "AGENDA_FULL",
    "INVALID_CAPABILITY_INPUT",
    "POLICY_DENIED",
    "POLICY_REQUIRES_CLARIFICATION",
    "MISSING_REQUIRED_FACTS",
    "CONFIRMATION_REQUIRED",
    "EFFECT_IN_DOUBT",
    "CONFIRMATION_ACCEPTED",
    "SETTLED",
    "READY",
]


@dataclass(frozen=True, slots=True)
class StepReason:
    """Why a step has its disposition. `message` may be shown."""

    code: ReasonCode
    message: str
    evidence: tuple[IntentionEvidence, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One intention as it is planned.

    `input` is the validated input as JSON. `item_id` is the agenda item that the step resumes; `interaction` and `answer`
    are the question that was answered for it and the answer; `continuation` is what the capability left in the item.
    `question` is what the step itself asks, where it does not run. `consumer_item_id` is the agenda item that waits for
    this step, which the kernel started for it.
    """

    id: str
    intention: IntentionRequest
    capability_id: str | None
    disposition: Disposition
    reason: StepReason
    input: JsonValue = None
    depends_on: tuple[str, ...] = ()
    missing_facts: tuple[MissingFact, ...] = ()
    item_id: str | None = None
    continuation: JsonValue = None
    interaction: Interaction | None = None
    answer: InteractionAnswer | None = None
    trigger: StepTrigger = "user"
    question: Interaction | None = None
    consumer_item_id: str | None = None

    @property
    def opens_item_id(self) -> str:
        """The agenda item that holds the step's work while it is unfinished."""
        return self.item_id or f"agenda:{self.id}"

    def frozen(self, capability_version: int) -> FrozenStep:
        """The step as an agenda item keeps it."""
        return FrozenStep(
            step_id=self.id,
            capability_id=self.capability_id or "",
            capability_version=capability_version,
            intention=self.intention,
            input=self.input,
            continuation=self.continuation,
            interaction=self.interaction,
            answer=self.answer,
            trigger="user" if self.trigger == "reconciliation" else self.trigger,
        )


@dataclass(frozen=True, slots=True)
class Replacement:
    """An unfinished item that gives way to a newer request of the same kind."""

    item_id: str
    step_id: str


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """Steps in order, and what the turn asks and gives up.

    `interaction` is the question that the plan itself asks. `answered_interaction_id` is the active question, if it was
    answered in a way that takes it away. `cancelled_item_ids` are what the user gave up; `removed_item_ids` what ended
    otherwise (declined, expired, outdated, denied, answered by another request); `replacements` what gives way to a step.
    """

    steps: tuple[PlanStep, ...]
    response_goal: str
    interaction: Interaction | None = None
    answered_interaction_id: str | None = None
    cancelled_item_ids: tuple[str, ...] = ()
    removed_item_ids: tuple[str, ...] = ()
    replacements: tuple[Replacement, ...] = ()
