"""Clicks against the open question, what they resume, and when a question has expired (contract 2.3 and 8.3)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from intention_kernel.contracts.agenda import AgendaItem, AgendaStatus
from intention_kernel.contracts.event import rfc3339
from intention_kernel.contracts.intentions import IntentionRequest, Resolution
from intention_kernel.contracts.interactions import (
    Interaction,
    InteractionAnswer,
    InteractionOption,
    InteractionSelection,
)
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.context.clicks import (
    RefusedClick,
    answer_of_click,
    clicked_owner,
    is_expired,
    resumed_item,
)
from intention_kernel.runtime.stages.state import KernelState

from tests.support.kernel import AT

YES = InteractionOption(id="yes", label="Yes", value=True)
AWAY = InteractionOption(id="away", label="Another hotel", value=None, target_capability_id="hotel.find")
MENU = Interaction(id="menu", kind="choice", goal="Which?", capability_id="hotel.book", options=(YES, AWAY))
CONFIRMATION = Interaction(id="sure", kind="confirmation", goal="Sure?", capability_id="hotel.book", options=(YES,))


def item(
    name: str = "1",
    *,
    status: AgendaStatus = "waiting_input",
    capability_id: str = "hotel.book",
    resolution: Resolution = "resolved",
    question: Interaction | None = None,
) -> AgendaItem:
    intention = IntentionRequest(id=name, objective="o", resolution=resolution, proposed_capability=capability_id)
    return AgendaItem(
        id=name, intention=intention, status=status, capability_id=capability_id, interaction=question or MENU
    )


@pytest.mark.parametrize(
    ("interaction", "selection", "code"),
    [
        (None, InteractionSelection(interaction_id="menu", option_id="yes"), "INTERACTION_SELECTION_MISMATCH"),
        (MENU, InteractionSelection(interaction_id="old", option_id="yes"), "INTERACTION_SELECTION_MISMATCH"),
        (MENU, InteractionSelection(interaction_id="menu", option_id="no"), "INTERACTION_OPTION_NOT_FOUND"),
        (MENU, InteractionSelection(interaction_id="menu", option_id=""), "INTERACTION_OPTION_NOT_FOUND"),
        (MENU, InteractionSelection(interaction_id="menu"), "INTERACTION_SELECTION_EMPTY"),
        (MENU, InteractionSelection(interaction_id="menu", action=" "), "INTERACTION_SELECTION_EMPTY"),
    ],
)
def test_a_click_that_does_not_fit_the_open_question_is_refused(
    interaction: Interaction | None, selection: InteractionSelection, code: str
) -> None:
    refused = answer_of_click(interaction, selection, "yes please")
    assert isinstance(refused, RefusedClick)
    assert refused.code == code


@pytest.mark.parametrize(
    ("selection", "text", "value", "evidence"),
    [
        (InteractionSelection(interaction_id="menu", option_id="yes"), "", True, "Yes"),
        (InteractionSelection(interaction_id="menu", option_id="yes"), "do it", True, "do it"),
        (InteractionSelection(interaction_id="menu", option_id="away"), " ", None, "Another hotel"),
        (InteractionSelection(interaction_id="menu", action="skip"), "", {"action": "skip"}, "skip"),
    ],
)
def test_a_click_answers_with_the_servers_value(
    selection: InteractionSelection, text: str, value: JsonValue, evidence: str
) -> None:
    assert answer_of_click(MENU, selection, text) == InteractionAnswer(
        interaction_id="menu", value=value, evidence=evidence
    )


def test_an_expired_question_still_takes_its_click_since_the_planner_tells_the_user() -> None:
    expired = CONFIRMATION.model_copy(update={"expires_at": rfc3339(AT - timedelta(hours=1))})
    clicked = answer_of_click(expired, InteractionSelection(interaction_id="sure", option_id="yes"), "")
    assert isinstance(clicked, InteractionAnswer)


@pytest.mark.parametrize(
    ("expires_at", "expired"),
    [
        (None, False),
        (rfc3339(AT), True),
        (rfc3339(AT + timedelta(seconds=1)), False),
        ("2026-03-01T13:00:00+02:00", True),
        ("2026-03-01T11:00:01-01:00", False),
    ],
)
def test_a_question_expires_at_its_time_and_not_before(expires_at: str | None, *, expired: bool) -> None:
    assert is_expired(MENU.model_copy(update={"expires_at": expires_at}), AT) is expired


def test_an_option_that_leads_elsewhere_is_for_its_target() -> None:
    assert clicked_owner(MENU, InteractionSelection(interaction_id="menu", option_id="away")) == "hotel.find"
    assert clicked_owner(MENU, InteractionSelection(interaction_id="menu", option_id="yes")) == "hotel.book"
    assert clicked_owner(MENU, InteractionSelection(interaction_id="menu", action="skip")) == "hotel.book"


@pytest.mark.parametrize(
    ("agenda", "owner", "resumed"),
    [
        ((item(),), "hotel.book", "1"),
        ((item(),), None, None),
        ((item(),), "hotel.find", None),
        ((item("1"), item("2")), "hotel.book", None),
        ((item("1"), item("2", capability_id="hotel.find")), "hotel.book", "1"),
        ((item(status="blocked"),), "hotel.book", None),
        ((item(resolution="ambiguous"),), "hotel.book", None),
        ((), "hotel.book", None),
    ],
)
def test_an_answer_resumes_the_only_waiting_item_of_its_owner(
    agenda: tuple[AgendaItem, ...], owner: str | None, resumed: str | None
) -> None:
    found = resumed_item(KernelState((), {}, agenda, MENU), MENU, owner)
    assert (found.id if found else None) == resumed


def test_a_confirmation_resumes_the_item_that_waits_with_it_and_no_other_of_the_same_capability() -> None:
    shown = item("shown", status="waiting_confirmation", question=CONFIRMATION)
    later = item("later", status="waiting_confirmation", question=CONFIRMATION.model_copy(update={"id": "sure-too"}))
    found = resumed_item(KernelState((), {}, (later, shown), CONFIRMATION), CONFIRMATION, "hotel.book")
    assert found is shown
