"""What compile_agent refuses of a capability: each row is a mistake, its code and its place (contract 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from intention_kernel.agent import (
    AgentCompilationError,
    CapabilityDefinition,
    CapabilityExecutionContext,
    CapabilityGuidance,
    CapabilityResult,
    CompileProblem,
    Completed,
    FactDeclaration,
    FactReference,
    FactRequirement,
    IdempotentRetry,
    Lookup,
    ReceiptView,
    ReferenceRequirements,
)
from intention_kernel.agent.effect import Answer, EffectAuthority, Inconclusive, Ports
from intention_kernel.contracts.json_codec import JsonValue

from tests.support.kernel import Anything, agent, capability, complete, write


def not_async(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
    return Completed(output=Anything())


async def of_one_parameter(context: CapabilityExecutionContext) -> CapabilityResult:
    return Completed(output=Anything())


async def describes_later(payload: JsonValue) -> None:
    return None


def calls_now(payload: JsonValue, authority: EffectAuthority, ports: Ports) -> JsonValue:
    return None


async def finds(receipt: ReceiptView) -> Answer:
    return Inconclusive("never")


def in_parts(value: JsonValue) -> Iterator[str]:
    yield str(value)


def problems(*capabilities: CapabilityDefinition, **members: object) -> tuple[CompileProblem, ...]:
    with pytest.raises(AgentCompilationError) as refused:
        agent(*capabilities, **members)
    return refused.value.found


def codes(*capabilities: CapabilityDefinition) -> list[tuple[str, str]]:
    return [(problem.code, problem.place) for problem in problems(*capabilities)]


READS: list[tuple[str, dict[str, object], str, str]] = [
    ("an id with a capital", {"id": "Hotel"}, "INVALID_IDENTIFIER", "capability Hotel: id"),
    ("an id with a colon", {"id": "hotel:find"}, "INVALID_IDENTIFIER", "capability hotel:find: id"),
    ("an id that ends with a line", {"id": "find\n"}, "INVALID_IDENTIFIER", "capability find\n: id"),
    ("an id of 201 characters", {"id": "f" * 201}, "INVALID_IDENTIFIER", f"capability {'f' * 201}: id"),
    ("version 0", {"version": 0}, "INVALID_CAPABILITY_VERSION", "capability find: version"),
    ("version true", {"version": True}, "INVALID_CAPABILITY_VERSION", "capability find: version"),
    ("a blank description", {"description": " \n"}, "INVALID_CAPABILITY_DESCRIPTION", "capability find: description"),
    ("execute is not async", {"execute": not_async}, "INVALID_CAPABILITY_EXECUTE", "capability find: execute"),
    ("execute takes one", {"execute": of_one_parameter}, "INVALID_CAPABILITY_EXECUTE", "capability find: execute"),
    ("execute is no function", {"execute": None}, "INVALID_CAPABILITY_EXECUTE", "capability find: execute"),
    ("an input that is no schema", {"input": 5}, "MODEL_SCHEMA_REQUIRED", "capability find: input"),
    ("an output that is no schema", {"output": object()}, "MODEL_SCHEMA_REQUIRED", "capability find: output"),
    ("a function as schema", {"input": not_async}, "MODEL_SCHEMA_REQUIRED", "capability find: input"),
    ("no JSON Schema", {"input": {"type": "objekt"}}, "MODEL_SCHEMA_REQUIRED", "capability find: input"),
    ("a reference into the net", {"input": {"$ref": "https://example.org/a"}}, "MODEL_SCHEMA_REQUIRED", "capability find: input"),
    ("a reference to nothing", {"input": {"$ref": "#/$defs/a"}}, "MODEL_SCHEMA_REQUIRED", "capability find: input"),
    ("an unknown effect", {"effect": "reed"}, "UNKNOWN_WORD", "capability find: effect"),
    ("an unknown confirmation", {"confirmation": "kernel"}, "UNKNOWN_WORD", "capability find: confirmation"),
    ("describe without a write", {"describe": str}, "EFFECT_WITHOUT_WRITE", "capability find: describe"),
    ("twins without a write", {"twins": True}, "EFFECT_WITHOUT_WRITE", "capability find: twins"),
    ("a result without a write", {"result": int}, "EFFECT_WITHOUT_WRITE", "capability find: result"),
    ("expiry without a question", {"expires_seconds": 5}, "INVALID_CONFIRMATION_EXPIRY", "capability find: expires_seconds"),
    (
        "references the wrong way round",
        {"reference_requirements": ReferenceRequirements(2, 1)},
        "INVALID_CAPABILITY_REFERENCE_REQUIREMENTS",
        "capability find: reference_requirements",
    ),
    (
        "references to none",
        {"reference_requirements": ReferenceRequirements(0, 1)},
        "INVALID_CAPABILITY_REFERENCE_REQUIREMENTS",
        "capability find: reference_requirements",
    ),
    (
        "references to an unknown source",
        {"reference_requirements": ReferenceRequirements(1, 1, "messages")},  # type: ignore[arg-type]
        "UNKNOWN_WORD",
        "capability find: reference_requirements.source",
    ),
    (
        "blank guidance",
        {"guidance": CapabilityGuidance(when_to_use=("to find", ""))},
        "INVALID_CAPABILITY_GUIDANCE",
        "capability find: guidance.when_to_use[1]",
    ),
    (
        "an unknown visibility",
        {"provides": (FactDeclaration("room", model_visibility="secret"),)},  # type: ignore[arg-type]
        "UNKNOWN_WORD",
        "capability find: provides room.model_visibility",
    ),
    (
        "redactions from a generator",
        {"provides": (FactDeclaration("room", derive_model_redactions=in_parts),)},  # type: ignore[arg-type]
        "INVALID_FACT_REDACTIONS",
        "capability find: provides room.derive_model_redactions",
    ),
    (
        "a fact twice",
        {"provides": (FactDeclaration("room"), FactDeclaration("room"))},
        "DUPLICATE_FACT",
        "capability find: provides",
    ),
    (
        "fact version 0",
        {"provides": (FactDeclaration("room", version=0),)},
        "INVALID_FACT_VERSION",
        "capability find: provides room: version",
    ),
    (
        "a fact type with a space",
        {"provides": (FactDeclaration("the room"),)},
        "INVALID_IDENTIFIER",
        "capability find: provides the room: type",
    ),
    ("a list of facts", {"provides": [FactDeclaration("room")]}, "INVALID_MEMBER", "capability find: provides"),
    ("a fact for a tuple", {"provides": FactDeclaration("room")}, "INVALID_MEMBER", "capability find: provides"),
    ("a fact of a word", {"provides": ("room",)}, "INVALID_MEMBER", "capability find: provides[0]"),
    ("seconds in words", {"expires_seconds": "5"}, "INVALID_MEMBER", "capability find: expires_seconds"),
    ("guidance in words", {"guidance": "to find"}, "INVALID_MEMBER", "capability find: guidance"),
]  # fmt: skip

WRITES: list[tuple[str, dict[str, object], str, str]] = [
    ("no confirmation", {"confirmation": "none"}, "WRITE_CONFIRMATION_REQUIRED", "capability book: confirmation"),
    ("nothing describes it", {"describe": None}, "EFFECT_DESCRIBE_REQUIRED", "capability book: describe"),
    ("describe is async", {"describe": describes_later}, "INVALID_EFFECT", "capability book: describe"),
    ("call is not async", {"call": calls_now}, "INVALID_EFFECT", "capability book: call"),
    ("a lookup of one parameter", {"resolver": Lookup(finds)}, "INVALID_EFFECT", "capability book: resolver"),  # type: ignore[arg-type]
    ("no time for a call", {"call_timeout_seconds": 0}, "INVALID_EFFECT", "capability book: effect"),
    ("a call for ever", {"call_timeout_seconds": float("nan")}, "INVALID_EFFECT", "capability book: effect"),
    ("a window of nothing", {"key_window_seconds": 0}, "INVALID_EFFECT", "capability book: effect"),
    ("quiet before the end", {"quiet_period_seconds": -1}, "INVALID_EFFECT", "capability book: effect"),
    ("a window that nobody gave", {"provider_deduplicates": True}, "INVALID_EFFECT", "capability book: effect"),
    ("a result that is no schema", {"result": 5}, "MODEL_SCHEMA_REQUIRED", "capability book: result"),
    ("expired from the start", {"expires_seconds": 0}, "INVALID_CONFIRMATION_EXPIRY", "capability book: expires_seconds"),
    ("a resolver by name", {"resolver": "manual"}, "INVALID_MEMBER", "capability book: resolver"),
    (
        "an expiry of its own question",
        {"confirmation": "capability", "expires_seconds": 5},
        "INVALID_CONFIRMATION_EXPIRY",
        "capability book: expires_seconds",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("members", "code", "place"), [row[1:] for row in READS], ids=[row[0] for row in READS])
def test_a_capability_that_cannot_work_is_refused_with_code_and_place(
    members: dict[str, object], code: str, place: str
) -> None:
    assert codes(capability("find", **members)) == [(code, place)]


@pytest.mark.parametrize(("members", "code", "place"), [row[1:] for row in WRITES], ids=[row[0] for row in WRITES])
def test_a_write_that_cannot_work_is_refused_with_code_and_place(
    members: dict[str, object], code: str, place: str
) -> None:
    assert codes(write("book", **members)) == [(code, place)]


def test_everything_that_an_effect_refuses_is_a_problem_of_its_own() -> None:
    found = problems(write("book", resolver=IdempotentRetry(), call_timeout_seconds=-1))
    assert [(problem.code, problem.message.partition(" ")[0]) for problem in found] == [
        ("INVALID_EFFECT", "call_timeout_seconds"),
        ("INVALID_EFFECT", "IdempotentRetry"),
        ("INVALID_EFFECT", "IdempotentRetry"),
    ]


def test_all_problems_come_together_in_the_order_of_the_declarations() -> None:
    found = problems(
        capability("find", version=0, output=5),
        write("book", confirmation="none", requires=(FactRequirement("room", "a room"),)),
        model_policy={"turn.interprett": "fast"},
    )
    assert [(problem.code, problem.place) for problem in found] == [
        ("INVALID_MODEL_POLICY", "agent: model_policy['turn.interprett']"),
        ("INVALID_CAPABILITY_VERSION", "capability find: version"),
        ("MODEL_SCHEMA_REQUIRED", "capability find: output"),
        ("WRITE_CONFIRMATION_REQUIRED", "capability book: confirmation"),
        ("MISSING_FACT_PROVIDER", "capability book: requires"),
    ]


def test_the_error_names_agent_place_what_to_do_and_code_in_a_line_for_each_problem() -> None:
    with pytest.raises(AgentCompilationError) as refused:
        agent(write("book", confirmation="none", describe=None))
    assert str(refused.value).splitlines() == [
        'agent \'agent\': capability book: confirmation: is "none" on a write; write "required" (the kernel asks) or '
        '"capability" (it asks itself) [WRITE_CONFIRMATION_REQUIRED]',
        "agent 'agent': capability book: describe: is missing; a write says what it is about to do: "
        "def describe(payload) -> Summary [EFFECT_DESCRIBE_REQUIRED]",
    ]


def test_an_unknown_word_is_told_with_the_one_that_was_meant() -> None:
    (problem,) = problems(capability("find", effect="reed"))
    assert problem.message == "'reed' is unknown (did you mean read?); write one of none, read, write"


@pytest.mark.parametrize("confirmation", ["none", "required", "capability"])
@pytest.mark.parametrize("effect", ["none", "read"])
def test_what_writes_nothing_may_be_confirmed_too(effect: str, confirmation: str) -> None:
    made = agent(capability("find", effect=effect, confirmation=confirmation))
    assert made.capabilities["find"].effect is None
    assert made.effects == ()


class Calls:
    """An object that is called."""

    async def __call__(self, context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        return Completed(output=Anything())

    async def named(self, context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        return Completed(output=Anything())


async def with_a_shop(shop: str, context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
    return Completed(output=shop)


@pytest.mark.parametrize(
    "execute",
    [complete, Calls(), Calls().named, partial(with_a_shop, "corner")],
    ids=["a function", "an object", "a method", "a partial function"],
)
def test_execute_may_be_anything_that_is_called_and_awaited(execute: Callable[..., object]) -> None:
    assert agent(capability("find", execute=execute)).capabilities["find"].definition.execute is execute


@pytest.mark.parametrize("capability_id", ["find", "hotel.find-room", "findRoom2", "find_room", "a.b-c_d"])
def test_identifiers_have_parts_with_dots_hyphens_and_underscores(capability_id: str) -> None:
    assert list(agent(capability(capability_id)).capabilities) == [capability_id]


def test_an_invalidated_fact_that_nobody_provides_is_unknown() -> None:
    (problem,) = problems(
        capability("find", provides=(FactDeclaration("room"),)),
        capability("leave", invalidates=(FactReference(type="room", version=2),)),
    )
    assert (problem.code, problem.place) == ("UNKNOWN_FACT", "capability leave: invalidates")
    assert "no capability provides room@2 (did you mean room@1?)" in problem.message


def test_a_write_has_the_effect_of_its_members() -> None:
    made = agent(write("book", result=int, call_timeout_seconds=5, twins=True, quiet_period_seconds=0))
    (effect,) = made.effects
    assert (effect.id, effect.result, effect.call_timeout_seconds, effect.twins) == ("book", int, 5, True)
    assert made.effect("book") is effect


def test_the_result_of_an_effect_is_by_default_the_output_and_any_json_for_a_json_schema() -> None:
    assert agent(write("book")).effect("book").result is Anything
    assert agent(write("book", output={"type": "object"})).effect("book").result is object
