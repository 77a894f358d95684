"""What an application's code does to the values that it is given is no memory, no consent and no input of an effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from intention_kernel.agent import (
    Allow,
    CanonicalResponse,
    CapabilityExecutionContext,
    CapabilityResult,
    Completed,
    EvidenceRecord,
    FactCandidate,
    FactDeclaration,
    GuidanceMatch,
    Interaction,
    JsonValue,
    ModelGuidancePolicyDefinition,
    NeedsInput,
    PolicyDefinition,
)
from intention_kernel.agent.effect import EffectAuthority
from intention_kernel.agent.policy import GuidanceContext, PolicyContext, Verdict
from intention_kernel.testing import ConversationScript, Talk
from pydantic import BaseModel

from tests.support.kernel import Anything, agent, capability, write

Document = dict[str, JsonValue]


class Transfer(BaseModel):
    """An amount."""

    amount: int


async def _know(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
    seen = EvidenceRecord(id="bank", source="external", content="The balance is 1.")
    fact = FactCandidate(type="balance", value={"amount": 1}, evidence_ids=("bank",))
    return Completed(Anything(), facts=(fact,), evidence=(seen,), canonical_response=CanonicalResponse("Known."))


async def _transfer(context: CapabilityExecutionContext, transfer: Transfer) -> CapabilityResult:
    async def call(authority: EffectAuthority) -> JsonValue:
        return {"amount": transfer.amount}

    await context.run_effect("one", call)
    return Completed(Anything(), canonical_response=CanonicalResponse(f"Sent {transfer.amount}."))


def _balance(facts: object) -> Document:
    return cast("dict[str, FactCandidate]", facts)["balance@1"].value  # type: ignore[return-value]


def _knowing(execute: Callable[..., object], **members: object) -> Talk:
    script = ConversationScript()
    script.when("know").proposes("bank.know")
    script.when("look").proposes("bank.look")
    provides = (FactDeclaration("balance"),)
    know = capability("bank.know", execute=_know, provides=provides)
    return Talk(agent(know, capability("bank.look", execute=execute), **members), script)


async def test_a_capability_cannot_change_a_fact_by_changing_what_it_read() -> None:
    async def look(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        _balance(context.facts)["amount"] = 1_000_000
        return Completed(Anything(), canonical_response=CanonicalResponse("Looked."))

    talk = _knowing(look)
    await talk.says("know")
    await talk.says("look")
    assert talk.facts == {"balance@1": {"amount": 1}}


async def test_a_fact_stays_as_it_was_published_whatever_its_capability_does_to_the_value_later() -> None:
    kept: Document = {"amount": 1}

    async def know(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        seen = EvidenceRecord(id="bank", source="external", content="The balance is 1.")
        fact = FactCandidate(type="balance", value=kept, evidence_ids=("bank",))
        return Completed(Anything(), facts=(fact,), evidence=(seen,), canonical_response=CanonicalResponse("Known."))

    async def pay(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        async def call(authority: EffectAuthority) -> JsonValue:
            kept["amount"] = 0
            return {}

        await context.run_effect("one", call)
        return Completed(Anything(), canonical_response=CanonicalResponse("Paid."))

    script = ConversationScript()
    script.when("know and pay").proposes("bank.know").proposes("bank.pay")
    provides = (FactDeclaration("balance"),)
    reads = capability("bank.know", execute=know, provides=provides)
    talk = Talk(agent(reads, write("bank.pay", execute=pay, confirmation="capability", result=dict)), script)
    await talk.says("know and pay")
    assert talk.facts == {"balance@1": {"amount": 1}}
    assert kept == {"amount": 0}


async def test_a_policy_and_guidance_cannot_change_what_the_user_has_confirmed() -> None:
    asked: list[int] = []

    def evaluate(context: PolicyContext) -> Verdict:
        asked.append(1)
        if len(asked) > 1:
            cast("Document", context.input)["amount"] = 999
        return Allow()

    def select(context: GuidanceContext) -> GuidanceMatch:
        for item in context.agenda:
            cast("Document", item.intention.input)["amount"] = 999
        return GuidanceMatch(selected=False)

    script = ConversationScript()
    script.when("send 1").proposes("bank.send", {"amount": 1})
    talk = Talk(
        agent(
            write("bank.send", input=Transfer, execute=_transfer, result=dict),
            policies=(PolicyDefinition("completes-the-input", evaluate),),
            model_guidance_policies=(ModelGuidancePolicyDefinition("looks", "Looks", ("Look.",), select),),
        ),
        script,
    )
    await talk.says("send 1")
    turn = await talk.clicks("yes")
    turn.says_exactly("Sent 1.")
    assert talk.effect("bank.send:one").payload == {"amount": 1}


async def test_a_blocked_step_is_resumed_with_what_it_had_though_it_counted_in_its_own_continuation() -> None:
    async def count(context: CapabilityExecutionContext, document: Document) -> CapabilityResult:
        document["note"] = "changed"
        state = cast("dict[str, int] | None", context.turn.continuation)
        if state is None:
            asked = Interaction(id=context.new_id("question"), kind="input", goal="How many?")
            return NeedsInput(asked, partial_input={"count": 0})
        state["count"] += 1
        number = state["count"]

        async def call(authority: EffectAuthority) -> JsonValue:
            return number

        done = await context.run_effect(f"number-{number}", call)
        return Completed(Anything(), canonical_response=CanonicalResponse(f"Number {done.value}."))

    script = ConversationScript()
    script.when("count").proposes("bank.count", {})
    script.when("more").answers("more")
    schema = {"type": "object"}
    talk = Talk(
        agent(write("bank.count", input=schema, execute=count, confirmation="capability", result=int)),
        script,
    )
    await talk.says("count")
    talk.loses_reply("bank.count")
    turn = await talk.says("more")
    turn.waits_for("bank.count:number-1")
    turn = await talk.settles_as_applied("bank.count:number-1", 1)
    turn.says("Number 1.")
    assert list(talk.effects) == ["bank.count:number-1"]
    assert talk.agenda == ()
    assert talk.effect("bank.count:number-1").payload == {}
