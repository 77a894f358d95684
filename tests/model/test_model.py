"""The protocol's promises hold in the model within small bounds, and each rule is needed for one of them."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from tests.model import __main__ as command
from tests.model import relay
from tests.model.catalogue import MUTATIONS, UNNEEDED, Mutation
from tests.model.explorer import explore
from tests.model.page import PAGE, rule_row
from tests.model.relay import RELAY_RULES, RelayRules
from tests.model.rules import Rules
from tests.model.scenarios import SCENARIOS

_STATES = 3_000


@pytest.mark.parametrize("name", SCENARIOS)
def test_with_all_rules_on_no_promise_breaks(name: str) -> None:
    found = explore(Rules(), SCENARIOS[name], states=_STATES)

    assert found.broken is None, "\n".join(found.path)
    assert found.is_complete or found.states == _STATES


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.field)
def test_without_a_rule_the_scenario_of_the_page_breaks(mutation: Mutation) -> None:
    """R1-R33, R39: each rule that the model carries, switched off, and the row that says so."""
    found = explore(mutation.rules, SCENARIOS[mutation.scenario])

    assert found.broken is not None
    assert rule_row(mutation.rule, mutation.field, mutation.scenario, found) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("field", RELAY_RULES)
def test_without_a_rule_of_the_relay_a_reader_loses_an_event(field: str) -> None:
    """R35-R37: deletes, prefixes, shards and sequences."""
    found = relay.explore_relay(RelayRules(**{field: False}))

    assert found.broken is not None
    assert rule_row(RELAY_RULES[field], field, "relay", found) in PAGE.read_text(encoding="utf-8")


def test_the_relay_keeps_order_and_loses_nothing() -> None:
    """R35-R37: within two turns and a redrive, to the end."""
    found = relay.explore_relay(RelayRules(), notices=0)

    assert found.is_complete
    assert found.broken is None, "\n".join(found.path)


def test_every_rule_of_the_model_is_switched_off_once() -> None:
    carried = {field.name for field in fields(Rules)}

    assert {mutation.field for mutation in MUTATIONS} | set(UNNEEDED) == carried
    assert {field.name for field in fields(RelayRules)} == set(RELAY_RULES)


def test_every_row_of_the_page_is_a_scenario_or_a_rule_of_the_model() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    named = {line.split("|")[1].strip() for line in lines if line.startswith("| ")}
    known = {*SCENARIOS, "relay", "scenario", "rule", *(m.rule for m in MUTATIONS), *RELAY_RULES.values()}

    assert named == known


def test_the_command_ends_with_one_line_of_counts(capsys: pytest.CaptureFixture[str]) -> None:
    status = command.main(["lost", "poison", "--depth", "6", "--holds"])

    counts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert status == 0
    assert counts["scenarios"] == 2
    assert counts["broken"] == counts["not_needed"] == []


def test_the_command_names_a_scenario_that_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["nothing"]) == 2
    assert "no such scenario: nothing" in capsys.readouterr().err
