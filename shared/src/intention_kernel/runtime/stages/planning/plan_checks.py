"""What is decided over one step by itself: resolution, schema and policies, in the order of contract 2.8."""

from __future__ import annotations

from dataclasses import dataclass, replace

from intention_kernel.agent.compiled import Capability
from intention_kernel.agent.policy import Allow, Clarify, Confirm, Deny, PolicyContext, Verdict
from intention_kernel.agent.schema import Invalid, Valid
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import PolicyContractError
from intention_kernel.runtime.stages.handed_out import OwnFacts, own, own_json
from intention_kernel.runtime.stages.planning.questions import Owner, what_input, which_of
from intention_kernel.runtime.stages.state import KernelState, TurnView
from intention_kernel.runtime.stages.turn_plan import Disposition, PlanStep, ReasonCode, StepReason


@dataclass(frozen=True, slots=True)
class Assessed:
    """A step after its own checks. `confirm` says why the user has to confirm it, None where nobody asks for that."""

    step: PlanStep
    confirm: str | None = None


def assess(view: TurnView, state: KernelState, step: PlanStep) -> Assessed:
    """The step as it passed its checks, or with the disposition and the question of the first one that it did not pass.

    Raises PolicyContractError where a policy answers with no verdict, and whatever a policy raises.
    """
    intention = step.intention
    if intention.resolution == "ambiguous":
        asked = replace(step, capability_id=None, question=which_of(view.new_id("interaction"), intention))
        return Assessed(_ended(asked, "clarify", "AMBIGUOUS_INTENTION", "This could mean several things."))
    if intention.resolution == "unsupported" or step.capability_id is None:
        reason = f"This is nothing that I can do: {intention.objective}"
        return Assessed(_ended(replace(step, capability_id=None), "reject", "UNSUPPORTED_INTENTION", reason))
    capability = view.agent.capabilities.get(step.capability_id)
    if capability is None:
        return Assessed(_ended(step, "reject", "CAPABILITY_NOT_REGISTERED", "This cannot be done here any more."))
    return _validated(view, state, step, capability)


def refused(step: PlanStep, code: ReasonCode, message: str) -> PlanStep:
    """The step, rejected for a reason that the user is told."""
    return _ended(step, "reject", code, message)


def ask(step: PlanStep, disposition: Disposition, code: ReasonCode, message: str, question: Interaction) -> PlanStep:
    """The step, which asks instead of running."""
    return replace(_ended(step, disposition, code, message), question=question)


def document_of(view: TurnView, capability_id: str | None, document: JsonValue) -> JsonValue:
    """The input as the capability's schema writes it; as it is where it does not fit."""
    capability = view.agent.capabilities.get(capability_id or "")
    checked = capability.input.validate(document) if capability is not None else None
    return checked.document if isinstance(checked, Valid) else document


def has_consent(step: PlanStep) -> bool:
    """Whether the user has accepted exactly this step."""
    return step.reason.code == "CONFIRMATION_ACCEPTED"


def _validated(view: TurnView, state: KernelState, step: PlanStep, capability: Capability) -> Assessed:
    checked = capability.input.validate(step.input)
    if isinstance(checked, Invalid):
        question = what_input(_owner(view, capability), step.intention, checked.issues)
        issues = "; ".join(f"{issue.path or '/'}: {issue.message}" for issue in checked.issues)
        return Assessed(ask(step, "clarify", "INVALID_CAPABILITY_INPUT", issues, question))
    # What was confirmed is carried out as it was shown, not as a schema would write it today.
    valid = step if has_consent(step) else replace(step, input=checked.document)
    verdict = _verdict(view, state, valid, capability)
    match verdict:
        case Deny(reason=reason):
            return Assessed(refused(valid, "POLICY_DENIED", reason))
        case Clarify(interaction=interaction):
            owned = interaction.model_copy(
                update={"id": view.new_id("interaction"), "capability_id": interaction.capability_id or capability.id}
            )
            return Assessed(ask(valid, "clarify", "POLICY_REQUIRES_CLARIFICATION", interaction.goal, owned))
    if has_consent(valid):
        return Assessed(valid)
    if isinstance(verdict, Confirm):
        return Assessed(valid, verdict.reason)
    required = capability.definition.confirmation == "required"
    return Assessed(valid, "This is done only after you have confirmed it." if required else None)


def _verdict(view: TurnView, state: KernelState, step: PlanStep, capability: Capability) -> Verdict:
    policies = view.agent.definition.policies
    if not policies:
        return Allow()
    context = PolicyContext(
        capability_id=capability.id,
        intention=step.intention.model_copy(deep=True),
        input=own_json(step.input),
        facts=OwnFacts(state.facts),
        agenda=tuple(item.public().model_copy(deep=True) for item in state.agenda),
        interaction=own(state.interaction),
        host_context={name: own_json(member) for name, member in view.host_context.items()},
        tenant_id=view.tenant_id,
        answer=own(step.answer),
    )
    for policy in policies:
        verdict = policy.evaluate(context)
        if not isinstance(verdict, Verdict):
            raise PolicyContractError("INVALID_POLICY_VERDICT", policy.id, f"answered {type(verdict).__name__}")
        if not isinstance(verdict, Allow):
            return verdict
    return Allow()


def _owner(view: TurnView, capability: Capability) -> Owner:
    return Owner(view.new_id("interaction"), capability.id)


def _ended(step: PlanStep, disposition: Disposition, code: ReasonCode, message: str) -> PlanStep:
    return replace(step, disposition=disposition, reason=StepReason(code, message, step.intention.evidence))
