"""Intentions that only say again what the thread has in hand: they are no second request (contract 8.2, C6)."""

from __future__ import annotations

from collections.abc import Iterable

from intention_kernel.contracts.digest import same_json
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.interactions import InteractionAnswer
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.planning.plan_checks import document_of
from intention_kernel.runtime.stages.state import TurnView
from intention_kernel.runtime.stages.turn_plan import PlanStep


def new_requests(
    view: TurnView,
    intentions: Iterable[IntentionRequest],
    resumed: PlanStep | None,
    answer: InteractionAnswer | None,
    gone: frozenset[str],
) -> list[IntentionRequest]:
    """What is left of the intentions: without the one that restates the answered operation, and without those that
    restate an operation whose confirmation is open. Saying it again is neither a yes nor a second request."""
    left = list(intentions)
    if resumed is not None:
        said_again = next((one for one in left if _restates(view, one, resumed, answer)), None)
        left = [one for one in left if one is not said_again]
    pending = [
        item.frozen
        for item in view.state.agenda
        if item.frozen is not None and item.id not in gone and (resumed is None or item.id != resumed.item_id)
    ]
    return [
        one
        for one in left
        if not any(_same_operation(view, one, frozen.capability_id, frozen.input) for frozen in pending)
    ]


def _restates(view: TurnView, intention: IntentionRequest, resumed: PlanStep, answer: InteractionAnswer | None) -> bool:
    if intention.resolution != "resolved" or intention.proposed_capability != resumed.capability_id:
        return False
    if _same_operation(view, intention, resumed.capability_id, resumed.input):
        return True
    same_words = answer is not None and any(said.text == answer.evidence for said in intention.evidence)
    # The words that answer an open question may be read as the whole request; those of a yes have to name it as well.
    input_question = resumed.interaction is not None and resumed.interaction.kind != "confirmation"
    return same_words and (input_question or intention.objective == resumed.intention.objective)


def _same_operation(view: TurnView, intention: IntentionRequest, capability_id: str | None, planned: JsonValue) -> bool:
    if intention.resolution != "resolved" or intention.proposed_capability != capability_id:
        return False
    return same_json(document_of(view, capability_id, intention.input), document_of(view, capability_id, planned))
