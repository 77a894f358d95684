"""The select stage: which capabilities the message is about (contract 2.5). The shortlist authorises nothing."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.agent.prompts.selection import SELECT, SELECT_REPAIR
from intention_kernel.contracts.intentions import IntentionEvidence
from intention_kernel.contracts.interactions import Interaction, InteractionSelection
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ModelGatewayError
from intention_kernel.runtime.stages.asking import Ask, Models, Unusable, narrowed
from intention_kernel.runtime.stages.context.clicks import clicked_owner, resumed_item
from intention_kernel.runtime.stages.selecting.selection_checks import Objections, checked, is_unbound_scalar
from intention_kernel.runtime.stages.selecting.selection_proposal import SelectionAnswer
from intention_kernel.runtime.stages.selection import Selection
from intention_kernel.runtime.stages.snapshot import ContextSnapshot
from intention_kernel.runtime.stages.state import TurnView


@dataclass(frozen=True, slots=True)
class _Refused:
    objections: Objections
    raw: JsonValue


async def select(snapshot: ContextSnapshot, models: Models) -> Selection:
    """The shortlist for interpretation.

    No model is asked where a click says all that there is to select, or where there is only one capability. Raises
    ModelGatewayError `CAPABILITY_SELECTION_INVALID` where the one repair did not help, and what asking raises.
    """
    if (clicked := _clicked(snapshot)) is not None:
        return clicked
    if len(snapshot.capabilities) <= 1:
        return _all_there_is(snapshot)
    first = await _proposed(snapshot, models, _select_ask(snapshot))
    if isinstance(first, Selection):
        return first
    second = await _proposed(snapshot, models, _repair_ask(snapshot, first))
    if isinstance(second, Selection):
        return second
    if second.objections.at_boundary or is_unbound_scalar(snapshot):
        return _boundary(snapshot)
    raise ModelGatewayError("CAPABILITY_SELECTION_INVALID", "no selection was accepted, not even after its one repair")


async def _proposed(snapshot: ContextSnapshot, models: Models, ask: Ask[SelectionAnswer]) -> Selection | _Refused:
    answered = await models.ask(ask)
    if isinstance(answered, Unusable):
        return _Refused(Objections(answered.issues), answered.raw)
    judged = await checked(snapshot, answered.value, models)
    return _Refused(judged, answered.value.to_json()) if isinstance(judged, Objections) else judged


def _select_ask(snapshot: ContextSnapshot) -> Ask[SelectionAnswer]:
    return Ask(
        task="capability.select",
        prompt_id=SELECT.id,
        input=snapshot.projection,
        answer=SelectionAnswer,
        model_keys=("capability.select", "turn.interpret"),
        capabilities=snapshot.summaries(),
        output_schema=_schema(snapshot),
    )


def _repair_ask(snapshot: ContextSnapshot, refused: _Refused) -> Ask[SelectionAnswer]:
    issues: list[JsonValue] = list(refused.objections.issues)
    return Ask(
        task="capability.select.repair",
        prompt_id=SELECT_REPAIR.id,
        input={"context": dict(snapshot.projection), "invalidOutput": refused.raw, "validationIssues": issues},
        answer=SelectionAnswer,
        model_keys=("capability.select.repair", "capability.select", "turn.interpret"),
        capabilities=snapshot.summaries(),
        output_schema=_schema(snapshot),
        audit={"validationIssues": issues, "rejectedProposal": refused.raw},
    )


def _schema(snapshot: ContextSnapshot) -> dict[str, JsonValue]:
    ids: list[JsonValue] = [capability.id for capability in snapshot.capabilities]
    items: JsonValue = {"type": "string", "enum": ids}
    return dict(narrowed(SelectionAnswer, capabilityIds={"type": "array", "items": items, "maxItems": len(ids)}))


def _clicked(snapshot: ContextSnapshot) -> Selection | None:
    """A click that selects by itself: it resumes the item that waits with the open question, or nothing else was said."""
    view, click = snapshot.view, snapshot.click
    interaction = view.state.interaction
    if click is None or interaction is None or view.selection is None:
        return None
    owner = clicked_owner(interaction, view.selection)
    ids = tuple(name for name in (owner,) if name is not None and name in view.agent.capabilities)
    if _resumes(snapshot, interaction, owner) or (ids and _says_only_the_click(view, interaction, view.selection)):
        return Selection("structured_selection", "selected", ids, "The user chose it in the open question.")
    return None


def _says_only_the_click(view: TurnView, interaction: Interaction, clicked: InteractionSelection) -> bool:
    option = interaction.option(clicked.option_id) if clicked.option_id is not None else None
    text = view.text.strip()
    return not text or (option is not None and text == option.label.strip())


def _resumes(snapshot: ContextSnapshot, interaction: Interaction, owner: str | None) -> bool:
    """An answer to a confirmation that is neither yes nor no resumes nothing: the text beside it may say something."""
    if interaction.kind == "confirmation" and (snapshot.click is None or not isinstance(snapshot.click.value, bool)):
        return False
    return resumed_item(snapshot.view.state, interaction, owner) is not None


def _all_there_is(snapshot: ContextSnapshot) -> Selection:
    ids = tuple(capability.id for capability in snapshot.capabilities)
    return Selection("single_capability", "open", ids, "There is nothing to select from.")


def _boundary(snapshot: ContextSnapshot) -> Selection:
    view = snapshot.view
    said = IntentionEvidence(
        text=view.text, meaning="No operation and no choice is clear from it.", message_index=view.message_index
    )
    return Selection(
        "kernel_boundary", "conversational", (), "The message does not say clearly enough what is wanted.", (said,)
    )
