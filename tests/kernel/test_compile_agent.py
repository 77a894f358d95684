"""What compile_agent refuses of an agent, its policies and the facts between capabilities (contract 5)."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

import pytest
from intention_kernel.agent import (
    Agent,
    AgentCompilationError,
    AgentDefinition,
    Allow,
    GuidanceContext,
    GuidanceExample,
    GuidanceMatch,
    ModelGatewayError,
    ModelGuidancePolicyDefinition,
    PolicyContext,
    PolicyDefinition,
    ResponseFallbacks,
    TurnContext,
    TurnResult,
    Verdict,
    compile_agent,
    prompts,
)
from intention_kernel.agent.prompts import catalogue
from intention_kernel.agent.prompts.catalogue import PROMPTS
from intention_kernel.application import Application
from intention_kernel.contracts.checkpoint import Checkpoint
from intention_kernel.contracts.model_task import MODEL_TASKS
from intention_kernel.errors import ConfigurationError
from intention_kernel.ports.model_gateway import ModelRequest, ModelResult

from tests.support.kernel import capability

DEFINITION = AgentDefinition(id="agent", identity="A helpful agent.", capabilities=(capability("find"),))


class NoModels:
    """A gateway that nobody asks."""

    async def invoke(self, request: ModelRequest) -> ModelResult:
        raise ModelGatewayError("MODEL_AWAY", "there is none")


async def program(context: TurnContext) -> TurnResult:
    return TurnResult(response=None)


def allow(context: PolicyContext) -> Verdict:
    return Allow()


async def allow_later(context: PolicyContext) -> Verdict:
    return Allow()


def always(context: GuidanceContext) -> GuidanceMatch:
    return GuidanceMatch(selected=True)


async def always_later(context: GuidanceContext) -> GuidanceMatch:
    return GuidanceMatch(selected=True)


async def migrate_later(checkpoint: Checkpoint) -> Checkpoint:
    return checkpoint


def guidance(**members: object) -> ModelGuidancePolicyDefinition:
    defaults: dict[str, object] = {
        "id": "returns",
        "description": "How returns go",
        "instructions": ("Ask for the receipt",),
        "select": always,
    }
    return ModelGuidancePolicyDefinition(**(defaults | members))  # type: ignore[arg-type]


def codes(**members: object) -> list[tuple[str, str]]:
    with pytest.raises(AgentCompilationError) as refused:
        compile_agent(replace(DEFINITION, **members))  # type: ignore[arg-type]
    return [(problem.code, problem.place) for problem in refused.value.found]


GUIDANCE = "INVALID_MODEL_GUIDANCE_POLICY"
EXAMPLES = tuple(GuidanceExample("hello", "greet") for _ in range(51))
ROWS: list[tuple[str, dict[str, object], str, str]] = [
    ("version 0", {"version": 0}, "INVALID_AGENT_VERSION", "agent: version"),
    ("version 1.0", {"version": 1.0}, "INVALID_AGENT_VERSION", "agent: version"),
    ("41 messages", {"recent_messages": 41}, "INVALID_KERNEL_LIMIT", "agent: recent_messages"),
    ("-1 messages", {"recent_messages": -1}, "INVALID_KERNEL_LIMIT", "agent: recent_messages"),
    ("no steps", {"max_steps": 0}, "INVALID_KERNEL_LIMIT", "agent: max_steps"),
    ("an unknown task", {"model_policy": {"turn": "a"}}, "INVALID_MODEL_POLICY", "agent: model_policy['turn']"),
    ("no alias", {"model_policy": {"turn.interpret": ""}}, "INVALID_MODEL_POLICY", "agent: model_policy['turn.interpret']"),
    ("an unknown prompt", {"prompts": {"kernel.x": "a"}}, "INVALID_MODEL_PROMPT", "agent: prompts['kernel.x']"),
    (
        "a blank fallback",
        {"response_fallbacks": ResponseFallbacks("")},
        "INVALID_RESPONSE_FALLBACK",
        "agent: response_fallbacks.unsupported_intention",
    ),
    (
        "a fallback with space around",
        {"response_fallbacks": ResponseFallbacks("Sorry. ")},
        "INVALID_RESPONSE_FALLBACK",
        "agent: response_fallbacks.unsupported_intention",
    ),
    (
        "a fallback of 4,001 characters",
        {"response_fallbacks": ResponseFallbacks("s" * 4_001)},
        "INVALID_RESPONSE_FALLBACK",
        "agent: response_fallbacks.unsupported_intention",
    ),
    ("no fingerprint", {"accepts_fingerprints": ("A" * 64,)}, "INVALID_FINGERPRINT", "agent: accepts_fingerprints"),
    ("an async migration", {"migrate": migrate_later}, "INVALID_MIGRATION", "agent: migrate"),
    ("a policy twice", {"policies": (PolicyDefinition("p", allow),) * 2}, "DUPLICATE_POLICY", "policy p"),
    ("a policy without a name", {"policies": (PolicyDefinition("", allow),)}, "INVALID_IDENTIFIER", "policy : id"),
    ("policy version 0", {"policies": (PolicyDefinition("p", allow, 0),)}, "INVALID_POLICY", "policy p: version"),
    (
        "an async policy",
        {"policies": (PolicyDefinition("p", allow_later),)},  # type: ignore[arg-type]
        "INVALID_POLICY",
        "policy p: evaluate",
    ),
    ("guidance twice", {"model_guidance_policies": (guidance(), guidance())}, GUIDANCE, "guidance policy returns"),
    ("guidance without id", {"model_guidance_policies": (guidance(id=" "),)}, GUIDANCE, "guidance policy  : id"),
    ("no version", {"model_guidance_policies": (guidance(version=0),)}, GUIDANCE, "guidance policy returns: version"),
    ("no words", {"model_guidance_policies": (guidance(description=""),)}, GUIDANCE, "guidance policy returns: description"),
    ("no instructions", {"model_guidance_policies": (guidance(instructions=()),)}, GUIDANCE, "guidance policy returns: instructions"),
    ("51 instructions", {"model_guidance_policies": (guidance(instructions=("a",) * 51),)}, GUIDANCE, "guidance policy returns: instructions"),
    ("a long one", {"model_guidance_policies": (guidance(instructions=("a" * 4_001,)),)}, GUIDANCE, "guidance policy returns: instructions[0]"),
    ("51 examples", {"model_guidance_policies": (guidance(examples=EXAMPLES),)}, GUIDANCE, "guidance policy returns: examples"),
    (
        "a long example",
        {"model_guidance_policies": (guidance(counter_examples=(GuidanceExample("a" * 2_001, "b"),)),)},
        GUIDANCE,
        "guidance policy returns: counter_examples[0].input",
    ),
    ("an async selector", {"model_guidance_policies": (guidance(select=always_later),)}, GUIDANCE, "guidance policy returns: select"),
    ("prompts in a list", {"prompts": []}, "INVALID_MEMBER", "agent: prompts"),
    ("capabilities by id", {"capabilities": ("find",)}, "INVALID_MEMBER", "agent: capabilities[0]"),
    ("fallbacks in words", {"response_fallbacks": "Sorry."}, "INVALID_MEMBER", "agent: response_fallbacks"),
]  # fmt: skip


@pytest.mark.parametrize(("members", "code", "place"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_an_agent_that_cannot_work_is_refused_with_code_and_place(
    members: dict[str, object], code: str, place: str
) -> None:
    assert codes(**members) == [(code, place)]


def test_an_agent_needs_an_identifier_and_an_identity() -> None:
    assert codes(id="My agent", identity=" ") == [
        ("INVALID_IDENTIFIER", "agent: id"),
        ("INVALID_AGENT_IDENTITY", "agent: identity"),
    ]


def test_two_capabilities_of_one_id_are_refused() -> None:
    twice = (capability("find"), capability("find"))
    assert codes(capabilities=twice) == [("DUPLICATE_CAPABILITY", "capability find")]


def test_every_task_may_have_a_model_and_every_prompt_other_words() -> None:
    made = compile_agent(
        replace(DEFINITION, model_policy=dict.fromkeys(MODEL_TASKS, "fast"), prompts=dict.fromkeys(PROMPTS, "Be kind."))
    )
    assert made.fingerprint == compile_agent(DEFINITION).fingerprint


def test_the_catalogue_has_every_prompt_that_a_module_defines_under_an_id_of_its_own() -> None:
    modules = [import_module(found.name) for found in iter_modules(prompts.__path__, f"{prompts.__name__}.")]
    defined = [prompt for module in modules if module is not catalogue for prompt in getattr(module, "PROMPTS", ())]
    assert {prompt.id: prompt for prompt in defined} == dict(PROMPTS)
    assert len(defined) == len(PROMPTS)
    assert all(prompt.text.strip() for prompt in defined)


def test_an_unknown_prompt_is_told_with_the_one_that_was_meant() -> None:
    with pytest.raises(AgentCompilationError, match=r"did you mean kernel\.turn\.interpret\?"):
        compile_agent(replace(DEFINITION, prompts={"kernel.turn.interpreet": "Be kind."}))


def test_policies_and_guidance_at_their_bounds_are_accepted() -> None:
    made = compile_agent(
        replace(
            DEFINITION,
            policies=(PolicyDefinition("p", allow),),
            model_guidance_policies=(
                guidance(instructions=("a" * 4_000,) * 50, examples=EXAMPLES[:50], counter_examples=EXAMPLES[:50]),
            ),
            response_fallbacks=ResponseFallbacks("s" * 4_000),
            recent_messages=0,
            accepts_fingerprints=("0" * 64,),
            migrate=lambda checkpoint: checkpoint,
        )
    )
    assert made.accepts_fingerprints == ("0" * 64,)
    assert made.migrate is not None


def test_compiled_agents_need_a_gateway_and_plain_ones_do_not() -> None:
    made = compile_agent(DEFINITION)
    with pytest.raises(
        ConfigurationError, match=r"agent 'agent' is compiled and asks models: give Application.*gateway"
    ):
        Application(agents=[made, Agent("plain", program)])
    assert Application(agents=[Agent("plain", program)]).gateway is None
    whole = Application(agents=[made, Agent("plain", program)], gateway=NoModels())
    assert whole.agent("agent") is made
