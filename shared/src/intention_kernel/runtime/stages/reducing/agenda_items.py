"""The agenda item that a step leaves, by how it was planned and how it ended (contract 3.9 and 8.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intention_kernel.agent.compiled import Capability
from intention_kernel.agent.results import Completed, Failed, NeedsConfirmation, NeedsDependency, NeedsInput
from intention_kernel.contracts.agenda import AgendaItem, AgendaStatus, BlockedStep, DeferredChoiceAnswer, MissingFact
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.outcomes import BlockedResult, Skipped, StepOutcome
from intention_kernel.runtime.stages.state import TurnView
from intention_kernel.runtime.stages.turn_plan import PlanStep


@dataclass(frozen=True, slots=True)
class ItemMaker:
    """Makes the item of one step. `others` are the other items of the agenda, `before` the one that the step resumed."""

    view: TurnView
    step: PlanStep
    before: AgendaItem | None
    others: Sequence[AgendaItem]

    def planned(self) -> AgendaItem:
        """Of a step that asks instead of running."""
        step = self.step
        if step.reason.code == "CONFIRMATION_REQUIRED":
            item = self._item("waiting_confirmation", question=step.question, continuation=step.continuation)
            return item.model_copy(update={"frozen": step.frozen(self._capability().definition.version)})
        if step.disposition == "defer":
            return self._waiting(step.missing_facts, step.question)
        return self._item("waiting_input", question=step.question, continuation=step.continuation)

    def ended(self, outcome: StepOutcome) -> AgendaItem | None:
        """Of a step that ran or was skipped; None where nothing of it is left to do."""
        match outcome.result:
            case Completed(interaction=Interaction() as follow_up) as completed:
                item = self._asking("waiting_input", follow_up, completed.continuation, completed.model_redactions)
                return item.model_copy(update={"completed_follow_up": True})
            case Completed():
                return None
            case NeedsInput() as needs:
                return self._asking("waiting_input", needs.interaction, needs.partial_input, needs.model_redactions)
            case NeedsConfirmation() as needs:
                return self._needs_confirmation(needs)
            case NeedsDependency() as needs:
                return self._needs_dependency(needs)
            case Skipped(code="DEPENDENCY_PENDING", pending_facts=pending):
                return self._waiting(pending)
            case BlockedResult() as blocked:
                return self._item("blocked").model_copy(update={"blocked": self._blocked(blocked)})
            case Skipped() | Failed():
                return self._item("blocked")

    def _needs_confirmation(self, needs: NeedsConfirmation) -> AgendaItem:
        payload: dict[str, JsonValue] = {"intention": self.step.intention.objective, "input": self.step.input}
        if needs.interaction.payload is not None:
            payload["capabilityPayload"] = needs.interaction.payload
        # An id that no earlier question had: a late click on an equal question of before is no consent to this one.
        kernels = {"id": self.view.new_id("interaction"), "capability_id": self.step.capability_id, "payload": payload}
        question = needs.interaction.model_copy(update=kernels)
        continuation = needs.continuation if needs.continuation is not None else needs.proposed_input
        return self._asking("waiting_confirmation", question, continuation, needs.model_redactions)

    def _needs_dependency(self, needs: NeedsDependency) -> AgendaItem:
        requires = self._capability().definition.requires
        required = {requirement.reference.key: requirement.missing for requirement in requires}
        reference = needs.requirement
        missing = required.get(reference.key) or MissingFact(type=reference.type, version=reference.version)
        return self._item(
            "waiting_facts", missing=(missing,), continuation=needs.continuation, redactions=needs.model_redactions
        )

    def _blocked(self, blocked: BlockedResult) -> BlockedStep:
        version = self._capability().definition.version
        return BlockedStep(
            turn_id=blocked.turn_id or self.view.turn_id,
            step=self.step.frozen(version),
            receipts=blocked.receipts,
            earlier=blocked.earlier,
        )

    def _asking(
        self, status: AgendaStatus, question: Interaction, continuation: JsonValue, redactions: Sequence[str]
    ) -> AgendaItem:
        return self._item(status, question=self._owned(question), continuation=continuation, redactions=redactions)

    def _waiting(self, missing: Sequence[MissingFact], question: Interaction | None = None) -> AgendaItem:
        """Of a step that has not run yet."""
        item = self._item("waiting_facts", question=question, missing=missing, continuation=self.step.continuation)
        deferred = self._deferred()
        return item.model_copy(update={"deferred_choice_answer": deferred}) if deferred is not None else item

    def _item(
        self,
        status: AgendaStatus,
        *,
        question: Interaction | None = None,
        missing: Sequence[MissingFact] = (),
        continuation: JsonValue = None,
        redactions: Sequence[str] = (),
    ) -> AgendaItem:
        step, before = self.step, self.before
        members: dict[str, object] = {
            "id": step.opens_item_id,
            "intention": step.intention,
            "status": status,
            "capability_id": step.capability_id,
            "continuation": continuation,
            "model_redactions": self._redactions(redactions),
            "missing_facts": tuple(missing),
            "interaction": question,
            "optional_input": True if _is_optional(status, question) else None,
            "dependencies": before.dependencies if before is not None else (),
            "owned_dependency_ids": before.owned_dependency_ids if before is not None else (),
        }
        item = AgendaItem.model_validate({name: v for name, v in members.items() if v is not None and v != ()})
        unknown = before.model_extra if before is not None else None
        return item.model_copy(update=unknown) if unknown else item

    def _deferred(self) -> DeferredChoiceAnswer | None:
        """An exact choice that the capability has not seen yet (D8)."""
        interaction, answer = self.step.interaction, self.step.answer
        if interaction is None or answer is None or interaction.kind != "choice":
            return None
        return DeferredChoiceAnswer(interaction=interaction, answer=answer)

    def _owned(self, question: Interaction) -> Interaction:
        """The capability's question with its owner, under an id that no other open question has."""
        changes: dict[str, object] = {}
        if question.capability_id is None:
            changes["capability_id"] = self.step.capability_id
        if any(other.interaction is not None and other.interaction.id == question.id for other in self.others):
            changes["id"] = self.view.new_id("interaction")
        return question.model_copy(update=changes) if changes else question

    def _redactions(self, more: Sequence[str]) -> tuple[str, ...]:
        """What was private of this work stays so while it is unfinished."""
        earlier = self.before.model_redactions if self.before is not None else ()
        return tuple(dict.fromkeys((*earlier, *more)))

    def _capability(self) -> Capability:
        return self.view.agent.capabilities[self.step.capability_id or ""]


def _is_optional(status: AgendaStatus, question: Interaction | None) -> bool:
    if question is None or status != "waiting_input" or question.kind == "confirmation":
        return False
    return question.mode == "optional" and question.protected_canonical_message is None
