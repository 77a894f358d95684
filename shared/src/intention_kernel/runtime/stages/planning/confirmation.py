"""The kernel's confirmations: what a yes resumes, what a no ends, and what ends by itself (contract 8.1 and 8.2).

Consent is for what was shown, at the time it was shown: a yes resumes the frozen step and nothing else, an expired or
outdated question takes no yes, and where a fact or a policy stands in the way the user is asked again.
"""

from __future__ import annotations

from collections.abc import Iterator

from intention_kernel.contracts.agenda import AgendaItem, FrozenStep
from intention_kernel.contracts.interactions import InteractionAnswer
from intention_kernel.runtime.stages.planning.plan_checks import document_of, refused
from intention_kernel.runtime.stages.planning.questions import expired
from intention_kernel.runtime.stages.state import TurnView
from intention_kernel.runtime.stages.turn_plan import PlanStep, StepReason


def accepted(item: AgendaItem, frozen: FrozenStep) -> PlanStep:
    """The step that a yes to the kernel's question resumes, exactly as it was planned. The yes itself is the kernel's: a
    capability that asks for consent of its own does not see it."""
    return PlanStep(
        id=frozen.step_id,
        intention=frozen.intention,
        capability_id=frozen.capability_id,
        disposition="execute",
        reason=StepReason("CONFIRMATION_ACCEPTED", "The user has confirmed it.", frozen.intention.evidence),
        input=frozen.input,
        item_id=item.id,
        continuation=frozen.continuation,
        interaction=frozen.interaction,
        answer=frozen.answer,
        trigger=frozen.trigger,
    )


def accepted_own(view: TurnView, item: AgendaItem, answer: InteractionAnswer) -> PlanStep:
    """The step that a yes to the capability's own question resumes: the original input, its continuation and the answer.

    This is `confirmation="capability"`: the kernel authorises nothing, the capability checks the answer (contract 8.1).
    """
    return PlanStep(
        id=view.new_id("step"),
        intention=item.intention,
        capability_id=item.capability_id,
        disposition="execute",
        reason=StepReason("CONFIRMATION_ACCEPTED", "The user has answered yes.", item.intention.evidence),
        input=document_of(view, item.capability_id, item.intention.input),
        item_id=item.id,
        continuation=item.continuation,
        interaction=item.interaction,
        answer=answer,
    )


def declined(view: TurnView, item: AgendaItem) -> PlanStep:
    """A no ends the item; the capability is not asked, also where the question was its own."""
    return refused(_over(view, item), "CONFIRMATION_DECLINED", f"Not done, as you said: {item.intention.objective}")


def over_by_itself(view: TurnView, answered_no: str | None) -> Iterator[PlanStep]:
    """A rejected step for every item that ends without an answer: it expired, or its definition changed meanwhile.

    `answered_no` is the item that the user declines in this very turn. Follow-ups end silently, see `over_follow_ups`.
    """
    for item in view.state.agenda:
        if item.completed_follow_up or item.id == answered_no:
            continue
        objective = item.intention.objective
        if expired(item.interaction, view.at) and item.status == "waiting_confirmation":
            told = f"The time to confirm is over, so it was not done: {objective}"
            yield refused(_over(view, item), "CONFIRMATION_EXPIRED", told)
        elif expired(item.interaction, view.at):
            yield refused(_over(view, item), "QUESTION_EXPIRED", f"The time to answer is over: {objective}")
        elif item.frozen is not None and _outdated(view, item.frozen):
            told = f"This works differently now, so it was not done: {objective}"
            yield refused(_over(view, item), "CONFIRMATION_OUTDATED", told)


def over_follow_ups(view: TurnView) -> tuple[str, ...]:
    """Follow-up questions whose time is over; their work is done, so nobody has to be told."""
    agenda = view.state.agenda
    return tuple(item.id for item in agenda if item.completed_follow_up and expired(item.interaction, view.at))


def _outdated(view: TurnView, frozen: FrozenStep) -> bool:
    capability = view.agent.capabilities.get(frozen.capability_id)
    return capability is None or capability.definition.version != frozen.capability_version


def _over(view: TurnView, item: AgendaItem) -> PlanStep:
    return PlanStep(
        id=view.new_id("step"),
        intention=item.intention,
        capability_id=item.capability_id,
        disposition="reject",
        reason=StepReason("READY", ""),
        input=item.frozen.input if item.frozen is not None else item.intention.input,
        item_id=item.id,
    )
