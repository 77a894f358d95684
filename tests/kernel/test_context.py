"""The context stage: guidance, availability and clicks (contract 2.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from intention_kernel.agent.capability import (
    CapabilityGuidance,
    FactDeclaration,
    FactRequirement,
    ReferenceRequirements,
)
from intention_kernel.agent.policy import (
    Allow,
    GuidanceContext,
    GuidanceExample,
    GuidanceMatch,
    ModelGuidancePolicyDefinition,
    PolicyDefinition,
)
from intention_kernel.contracts.agenda import AgendaItem
from intention_kernel.contracts.facts import FactRecord, Producer
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.interactions import Interaction, InteractionOption, InteractionSelection
from intention_kernel.errors import PolicyContractError
from intention_kernel.runtime.stages.context.context import RefusedClick, build_context
from intention_kernel.runtime.stages.snapshot import ContextSnapshot
from intention_kernel.runtime.stages.state import TurnView

from tests.support.kernel import agent, capability, view, write

PRODUCER = Producer(capability_id="c", capability_version=1, turn_id="t", step_id="s")
QUESTION = Interaction(
    id="menu",
    kind="choice",
    goal="Which room?",
    capability_id="hotel.find",
    options=(InteractionOption(id="blue", label="Blue", value=7, target_capability_id="hotel.book"),),
)


def snapshot(turn: TurnView) -> ContextSnapshot:
    built = build_context(turn)
    assert isinstance(built, ContextSnapshot)
    return built


def guidance(select: Callable[[GuidanceContext], GuidanceMatch], name: str = "polite") -> ModelGuidancePolicyDefinition:
    return ModelGuidancePolicyDefinition(
        id=name,
        description="Be polite",
        instructions=("Say please",),
        select=select,
        examples=(GuidanceExample("hi", "greet"),),
    )


def test_capabilities_are_contracts_in_the_order_of_their_ids_and_blocked_while_a_planned_fact_is_missing() -> None:
    needs = (
        FactRequirement("guest", "who stays"),
        FactRequirement("price", "the price", resolution="runtime"),
    )
    compiled = agent(
        write("hotel.book", requires=needs),
        capability(
            "hotel.find",
            provides=(FactDeclaration("guest"), FactDeclaration("price")),
            guidance=CapabilityGuidance(when_to_use=("to look",)),
            reference_requirements=ReferenceRequirements(1, 2),
        ),
    )
    book, find = snapshot(view(compiled)).capabilities
    assert (book.id, book.availability, book.blocked_by) == ("hotel.book", "blocked", ("who stays",))
    assert (find.id, find.availability, find.detail) == ("hotel.find", "ready", "contract")
    assert find.guidance == {"whenToUse": ["to look"], "whenNotToUse": [], "examples": []}
    assert find.reference_requirements == {"source": "active_interaction_options", "minimum": 1, "maximum": 2}
    guest = FactRecord(type="guest", value="Ann", produced_by=PRODUCER)
    ready, _ = snapshot(view(compiled, facts={"guest@1": guest})).capabilities
    assert ready.availability == "ready"


def test_summaries_for_selection_hold_no_schema_and_no_guidance() -> None:
    compiled = agent(capability("hotel.find", guidance=CapabilityGuidance(when_to_use=("to look",))))
    assert set(snapshot(view(compiled)).summaries()[0].to_json()) == {
        "detail",
        "id",
        "description",
        "availability",
        "blockedBy",
    }


def test_a_guidance_policy_reaches_models_only_when_its_selector_says_so() -> None:
    seen: list[GuidanceContext] = []

    def applies(context: GuidanceContext) -> GuidanceMatch:
        seen.append(context)
        return GuidanceMatch(selected=True, matched_selectors=("always",))

    compiled = agent(
        capability("hotel.find"),
        write("hotel.book"),
        model_guidance_policies=(
            guidance(lambda context: GuidanceMatch(selected=False), "never"),
            guidance(applies),
        ),
    )
    item = AgendaItem(
        id="agenda:1",
        intention=IntentionRequest(id="i", objective="o", resolution="resolved", proposed_capability="hotel.pay"),
        status="waiting_input",
        continuation={"private": True},
    )
    built = snapshot(view(compiled, interaction=QUESTION, agenda=(item,)))
    assert [selected.definition.id for selected in built.guidance] == ["polite"]
    assert built.projection["selectedModelGuidancePolicies"] == [
        {
            "id": "polite",
            "version": 1,
            "description": "Be polite",
            "instructions": ["Say please"],
            "examples": [{"input": "hi", "expectedBehavior": "greet"}],
            "counterExamples": [],
            "matchedSelectors": ["always"],
        }
    ]
    assert seen[0].active_capability_ids == ("hotel.book", "hotel.find", "hotel.pay")
    assert seen[0].registered_capability_ids == ("hotel.book", "hotel.find")
    assert seen[0].agenda[0].continuation is None


@pytest.mark.parametrize(
    "match",
    [
        None,
        True,
        GuidanceMatch(selected=cast("bool", 1)),
        GuidanceMatch(selected=True, matched_selectors=(" ",)),
        GuidanceMatch(selected=False, matched_selectors=cast("tuple[str, ...]", ["list"])),
    ],
)
def test_a_selector_that_answers_no_match_fails_the_attempt_with_its_policy_named(match: GuidanceMatch) -> None:
    compiled = agent(capability("hotel.find"), model_guidance_policies=(guidance(lambda context: match),))
    with pytest.raises(PolicyContractError, match="INVALID_GUIDANCE_MATCH: policy polite"):
        build_context(view(compiled))


def test_policies_are_projected_by_id_and_version_in_the_order_of_their_ids() -> None:
    policies = tuple(PolicyDefinition(id=name, evaluate=lambda context: Allow()) for name in ("b", "a"))
    built = snapshot(view(agent(capability("hotel.find"), policies=policies)))
    assert built.projection["policies"] == [{"id": "a", "version": 1}, {"id": "b", "version": 1}]


def test_a_click_becomes_the_answer_of_the_servers_own_option() -> None:
    chosen = InteractionSelection(interaction_id="menu", option_id="blue")
    compiled = agent(capability("hotel.find"), write("hotel.book"))
    built = snapshot(view(compiled, "", interaction=QUESTION, selection=chosen))
    assert built.click is not None
    assert (built.click.interaction_id, built.click.value, built.click.evidence) == ("menu", 7, "Blue")
    assert built.projection["interactionSelection"] == {"interactionId": "menu", "optionId": "blue"}


def test_a_click_on_a_question_that_is_not_open_is_refused_before_any_model() -> None:
    old = InteractionSelection(interaction_id="old", option_id="blue")
    compiled = agent(capability("hotel.find"))
    refused = build_context(view(compiled, "", interaction=QUESTION, selection=old))
    assert isinstance(refused, RefusedClick)
    assert refused.code == "INTERACTION_SELECTION_MISMATCH"
    assert refused.message
