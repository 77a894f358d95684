"""The fingerprint of a compiled agent: the same for the same contract, wherever and in whatever order it is declared."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from intention_kernel.agent import (
    Allow,
    CapabilityGuidance,
    Deny,
    FactDeclaration,
    GuidanceMatch,
    IdempotentRetry,
    PolicyDefinition,
    ReferenceRequirements,
    ResponseFallbacks,
    compile_agent,
)
from intention_kernel.agent.fingerprint import contract_of, fingerprint_of

from tests.kernel.fingerprinted import BOOK, DEFINITION, FIND, Room, described

PINNED = "a7f1f29a5bfd5e095f5d172c8c3486e673efc916e0ca593e18a2cc782f680829"


def fingerprint(**members: object) -> str:
    return compile_agent(replace(DEFINITION, **members)).fingerprint  # type: ignore[arg-type]


def with_book(**members: object) -> str:
    return fingerprint(capabilities=(FIND, replace(BOOK, **members)))  # type: ignore[arg-type]


def with_find(**members: object) -> str:
    return fingerprint(capabilities=(replace(FIND, **members), BOOK))  # type: ignore[arg-type]


def test_the_fingerprint_of_a_definition_is_the_same_for_ever() -> None:
    """Threads are stored under it: a change here strands the conversations of every application."""
    assert compile_agent(DEFINITION).fingerprint == PINNED


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_another_process_with_other_hashes_finds_the_same_fingerprint(seed: str) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.kernel.fingerprinted"],
        env=os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": "C"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert found.stdout == f"{PINNED}\n"


def test_the_order_of_declarations_does_not_matter() -> None:
    assert fingerprint(capabilities=(BOOK, FIND), policies=DEFINITION.policies[::-1]) == PINNED
    assert with_find(provides=FIND.provides[::-1]) == PINNED
    assert with_book(requires=BOOK.requires[::-1]) == PINNED
    properties = {"required": ["kind"], "properties": {"kind": {"enum": ["cheap", "quiet"]}}, "type": "object"}
    assert with_find(input=properties) == PINNED


def test_code_models_prompts_and_limits_do_not_matter() -> None:
    async def otherwise(context: object, value: object) -> object:
        return None

    assert with_book(execute=otherwise, describe=lambda payload: described(payload)) == PINNED
    assert fingerprint(model_policy={"turn.interpret": "large"}, recent_messages=3, max_steps=2) == PINNED
    assert fingerprint(accepts_fingerprints=("0" * 64,), migrate=lambda checkpoint: checkpoint) == PINNED
    policies = tuple(PolicyDefinition(policy.id, lambda context: Deny("no")) for policy in DEFINITION.policies)
    assert fingerprint(policies=policies) == PINNED
    (guidance,) = DEFINITION.model_guidance_policies
    never = replace(guidance, select=lambda context: GuidanceMatch(selected=False))
    assert fingerprint(model_guidance_policies=(never,)) == PINNED
    provides = tuple(replace(fact, derive_model_redactions=lambda value: ()) for fact in FIND.provides)
    assert with_find(provides=provides) == PINNED


def test_how_an_effect_is_reconciled_does_not_matter() -> None:
    async def call(payload: object, authority: object, ports: object) -> None:
        return None

    certified = {"provider_deduplicates": True, "key_window_seconds": 60.0, "resolver": IdempotentRetry()}
    assert with_book(call=call, call_timeout_seconds=5.0, expires_seconds=60.0, twins=True, **certified) == PINNED


CHANGES = {
    "the agent's id": fingerprint(id="inn"),
    "its version": fingerprint(version=2),
    "its identity": fingerprint(identity="The desk of an inn."),
    "its fallback": fingerprint(response_fallbacks=ResponseFallbacks()),
    "a policy less": fingerprint(policies=DEFINITION.policies[:1]),
    "a policy's version": fingerprint(policies=(DEFINITION.policies[0], PolicyDefinition("adults", lambda c: Allow(), 2))),
    "guidance less": fingerprint(model_guidance_policies=()),
    "an instruction": fingerprint(
        model_guidance_policies=(replace(DEFINITION.model_guidance_policies[0], instructions=("Say nothing",)),)
    ),
    "a capability more": fingerprint(capabilities=(FIND, BOOK, replace(FIND, id="room.look", provides=()))),
    "a capability's version": with_find(version=2),
    "a description": with_find(description="Finds quiet rooms"),
    "an input": with_find(input=Room),
    "an output": with_find(output=list[int]),
    "a result": with_book(result=str),
    "what an effect is": with_find(effect="none"),
    "who asks": with_book(confirmation="capability"),
    "a requirement less": with_book(requires=BOOK.requires[:1]),
    "a requirement's words": with_book(requires=(replace(BOOK.requires[0], description="a room"), BOOK.requires[1])),
    "when it is resolved": with_book(requires=(replace(BOOK.requires[0], resolution="runtime"), BOOK.requires[1])),
    "a fact more": with_find(provides=(*FIND.provides, FactDeclaration("room.view"))),
    "who may see a fact": with_find(provides=(replace(FIND.provides[0], model_visibility="presence"), FIND.provides[1])),
    "what is invalidated": with_book(invalidates=()),
    "when to use it": with_find(guidance=CapabilityGuidance(when_to_use=("for rooms",), examples=("a quiet room",))),
    "how many references": with_book(reference_requirements=ReferenceRequirements(1, 2)),
}  # fmt: skip


def test_every_change_of_the_contract_has_a_fingerprint_of_its_own() -> None:
    assert PINNED not in CHANGES.values()
    assert len(set(CHANGES.values())) == len(CHANGES)


def test_the_contract_is_json_that_can_be_compared_member_by_member() -> None:
    made = compile_agent(DEFINITION)
    contract = contract_of(DEFINITION, made.capabilities.values())
    assert fingerprint_of(contract) == PINNED
    other = compile_agent(replace(DEFINITION, version=2))
    changed = contract_of(other.definition, other.capabilities.values())
    assert {name for name in contract if contract[name] != changed[name]} == {"version"}
