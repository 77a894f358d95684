"""What the kernel's events hold: data made of a stage's value, without anything private (contract 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from intention_kernel.agent.results import Completed, Failed, NeedsConfirmation, NeedsDependency, NeedsInput
from intention_kernel.contracts.facts import FactRecord
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import StoredModel
from intention_kernel.runtime.stages.composition import Composition
from intention_kernel.runtime.stages.interpretation import Interpretation
from intention_kernel.runtime.stages.outcomes import BlockedResult, Reduction, Skipped, StepOutcome
from intention_kernel.runtime.stages.selection import Selection
from intention_kernel.runtime.stages.snapshot import ContextSnapshot
from intention_kernel.runtime.stages.turn_plan import PlanStep, TurnPlan

Data = dict[str, JsonValue]


def turn_started(text: str, attempt: int, revision: int, resumes: str | None) -> Data:
    """`turn.started`; the text itself is in the audit of the first model call."""
    return {
        "attempt": attempt,
        "resumes": resumes,
        "messageLength": len(text),
        "checkpointRevision": revision,
    }


def context_built(snapshot: ContextSnapshot) -> Data:
    """`context.built`: what the context has, not what it says."""
    view = snapshot.view
    recent = cast("Data", snapshot.projection["conversation"]).get("recentMessages", [])
    selection = view.selection
    return {
        "recentMessages": len(cast("list[JsonValue]", recent)),
        "currentMessageIndex": view.message_index,
        "activeCapabilityId": view.state.interaction.capability_id if view.state.interaction else None,
        "facts": list[JsonValue](sorted(view.state.facts)),
        "agendaItems": len(view.state.agenda),
        "activeInteraction": view.state.interaction.kind if view.state.interaction else None,
        "interactionSelection": selection.to_json() if selection is not None else None,
        "selectedModelGuidancePolicies": [
            {
                "id": selected.definition.id,
                "version": selected.definition.version,
                "matchedSelectors": list(selected.matched_selectors),
            }
            for selected in snapshot.guidance
        ],
        "omissions": [{"path": o.path, "reason": o.reason, "omitted": o.omitted} for o in snapshot.omissions],
    }


def capabilities_selected(selection: Selection) -> Data:
    """`capabilities.selected`."""
    reviewed = selection.reviewed_choice
    return {
        "source": selection.source,
        "mode": selection.mode,
        "capabilityIds": list(selection.capability_ids),
        "rationale": selection.rationale,
        "evidence": _listed(selection.evidence),
        "reviewedChoice": {
            "interactionId": reviewed.interaction_id,
            "optionId": reviewed.option_id,
            "messageIndex": reviewed.message_index,
            "evidence": reviewed.evidence,
            "rationale": reviewed.rationale,
        }
        if reviewed is not None
        else None,
        "adjustments": [{"code": a.code, "capabilityId": a.capability_id} for a in selection.adjustments],
    }


def intention_interpreted(interpretation: Interpretation) -> Data:
    """`intention.interpreted`: the accepted batch."""
    batch = interpretation.batch
    answer = batch.answer_to_interaction
    return {
        "source": interpretation.source,
        "intentions": _listed(batch.intentions),
        "interactionAnswer": answer.to_json() if answer is not None else None,
        "interactionAnswerSource": interpretation.answer_source,
        "contradictions": _listed(batch.contradictions),
        "lifecycleActions": _listed(batch.lifecycle_actions),
    }


def plan_created(plan: TurnPlan) -> Data:
    """`plan.created`."""
    return {
        "responseGoal": plan.response_goal,
        "cancelledAgendaItemIds": list(plan.cancelled_item_ids),
        "removedAgendaItemIds": list(plan.removed_item_ids),
        "steps": [planned_step(step) for step in plan.steps],
    }


def planned_step(step: PlanStep) -> Data:
    """One step of a plan."""
    return {
        "id": step.id,
        "capabilityId": step.capability_id,
        "disposition": step.disposition,
        "trigger": step.trigger,
        "input": step.input,
        "dependsOn": list(step.depends_on),
        "missingFacts": _listed(step.missing_facts),
        "reason": {
            "code": step.reason.code,
            "message": step.reason.message,
            "evidence": _listed(step.reason.evidence),
        },
    }


def outcome_event(outcome: StepOutcome) -> tuple[str, Data]:
    """The event that ends a step, by name and data."""
    common: Data = {"capabilityId": outcome.step.capability_id}
    match outcome.result:
        case Skipped(code=code):
            return "capability.skipped", common | {"status": "skipped", "reasonCode": code}
        case BlockedResult(receipts=receipts):
            return "capability.blocked", common | {"status": "blocked", "receipts": _listed(receipts)}
        case Failed(issue=issue):
            shown: Data = {"code": issue.code, "message": issue.message, "retryable": issue.retryable}
            return "capability.failed", common | {"status": "failed", "issue": shown | {"details": issue.details}}
        case Completed() as completed:
            return "capability.completed", common | {"status": "completed"} | _completed(completed)
        case NeedsInput(interaction=interaction):
            return "capability.completed", common | {"status": "needs_input", "interaction": asked(interaction)}
        case NeedsConfirmation(interaction=interaction):
            return "capability.completed", common | {"status": "needs_confirmation", "interaction": asked(interaction)}
        case NeedsDependency(requirement=requirement, provider_capability_id=provider):
            needed: Data = {"requirement": requirement.to_json(), "providerCapabilityId": provider}
            return "capability.completed", common | {"status": "needs_dependency"} | needed


def facts_reduced(reductions: Sequence[Reduction]) -> Data:
    """`facts.reduced`, over all batches of the turn."""
    published = [record for reduction in reductions for record in reduction.published]
    invalidated = [record for reduction in reductions for record in reduction.invalidated]
    final = reductions[-1].state
    interaction = final.interaction
    return {
        "published": [public_fact(record) for record in published],
        "invalidated": [public_fact(record) for record in invalidated],
        "ended": [{"agendaItemId": e.item_id, "reason": e.reason} for r in reductions for e in r.ended],
        "agendaItems": len(final.agenda),
        "interaction": interaction.kind if interaction is not None else None,
    }


def interaction_requested(interaction: Interaction) -> Data:
    """`interaction.requested`, whenever a question is open at the end of a turn."""
    return {
        "interactionId": interaction.id,
        "kind": interaction.kind,
        "capabilityId": interaction.capability_id,
        "requestedFacts": list(interaction.requested_facts),
    }


def response_composed(composition: Composition) -> Data:
    """`response.composed`."""
    return {
        "status": "completed",
        "grounded": composition.grounded,
        "source": composition.source,
        "claims": len(composition.claims),
    }


def public_fact(record: FactRecord) -> JsonValue:
    """A fact without what is private of it."""
    shown = record.to_json()
    shown.pop("modelRedactions", None)
    return shown


def asked(interaction: Interaction) -> JsonValue:
    """A question as events show it: without the text that is for the user alone."""
    shown = interaction.to_json()
    shown.pop("protectedCanonicalMessage", None)
    return shown


def _completed(completed: Completed) -> Data:
    return {
        "output": cast("JsonValue", completed.output),
        "facts": _listed(completed.facts),
        "evidence": _listed(completed.evidence),
        "artifacts": [{"id": a.id, "kind": a.kind, "data": a.data} for a in completed.artifacts],
    }


def _listed(values: Iterable[StoredModel]) -> list[JsonValue]:
    return [value.to_json() for value in values]
