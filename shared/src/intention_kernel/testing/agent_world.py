"""What the contract suites of compiled agents share: a small shop, the provider it writes to, and the conversation's script."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel

from intention_kernel.agent import (
    AgentDefinition,
    CanonicalResponse,
    CapabilityDefinition,
    CapabilityExecutionContext,
    CapabilityResult,
    CompiledAgent,
    Completed,
    EvidenceRecord,
    FactCandidate,
    FactDeclaration,
    FactRequirement,
    Summary,
    compile_agent,
)
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.models.script import ConversationScript
from intention_kernel.testing.boundary_harness import BoundaryHarness
from intention_kernel.testing.conversation import Conversation
from intention_kernel.testing.program_world import Provider


class Item(BaseModel):
    """What is looked for, bought or sent."""

    name: str


class Outcome(BaseModel):
    """What came of it."""

    reference: str


@dataclass(slots=True)
class Shop:
    """A provider that writes, and one that reads; `looked` counts what was really looked up."""

    provider: Provider = field(default_factory=Provider)
    looked: list[str] = field(default_factory=list)

    def find(self, name: str) -> JsonValue:
        """Another answer every time: what a retry must not see."""
        self.looked.append(name)
        return f"{name} no. {len(self.looked)}"


def shop_agent(shop: Shop, *, version: int = 1) -> CompiledAgent:
    """shop.find (read), shop.buy (write, confirmed), shop.send (write, asks for itself: here never), shop.mail (needs a
    parcel that shop.send publishes)."""

    async def find(context: CapabilityExecutionContext, item: Item) -> CapabilityResult:
        await context.events.emit("shop.looked", {"name": item.name})
        found = shop.find(item.name)
        evidence = EvidenceRecord(id=f"shelf:{item.name}", source="external", content=str(found))
        fact = FactCandidate(type="shelf", value=found, evidence_ids=(evidence.id,))
        return Completed(Outcome(reference=str(found)), facts=(fact,), evidence=(evidence,))

    async def buy(context: CapabilityExecutionContext, item: Item) -> CapabilityResult:
        done = await context.run_effect(item.name, shop.provider.write)
        return _wrote("purchase", f"Bought {item.name}.", done.value)

    async def send(context: CapabilityExecutionContext, item: Item) -> CapabilityResult:
        await context.run_effect(f"pack-{item.name}", shop.provider.write)
        done = await context.run_effect(f"send-{item.name}", shop.provider.write)
        return _wrote("parcel", f"Sent {item.name}.", done.value)

    async def mail(context: CapabilityExecutionContext, item: Item) -> CapabilityResult:
        done = await context.run_effect(f"mail-{item.name}", shop.provider.write)
        return _wrote("mail", f"Mailed {item.name}.", done.value)

    parcel = FactRequirement(type="parcel", description="a parcel that was sent")
    return compile_agent(
        AgentDefinition(
            id="shop",
            identity="The assistant of a small shop.",
            capabilities=(
                CapabilityDefinition(
                    id="shop.find",
                    description="Look for a thing on the shelf",
                    input=Item,
                    output=Outcome,
                    execute=find,
                    effect="read",
                    provides=(FactDeclaration(type="shelf"),),
                ),
                _write("shop.buy", "Buy a thing", buy, "purchase", "required", version=version),
                _write("shop.send", "Pack and send a thing", send, "parcel", "capability"),
                _write("shop.mail", "Mail about a parcel", mail, "mail", "capability", requires=(parcel,)),
            ),
        )
    )


def shop_script() -> ConversationScript:
    """The messages of the suites."""
    script = ConversationScript()
    script.when("find tea").proposes("shop.find", {"name": "tea"})
    for name in ("tea", "jam"):
        script.when(f"buy {name}").proposes("shop.buy", {"name": name})
        script.when(f"send {name}").proposes("shop.send", {"name": name})
    script.when("find tea and send jam").proposes("shop.find", {"name": "tea"}).proposes("shop.send", {"name": "jam"})
    script.when("send tea and mail").proposes("shop.send", {"name": "tea"}).proposes("shop.mail", {"name": "tea"})
    script.when("yes").answers(value=True)
    script.when("no").answers(value=False)
    script.when("hello").says("Hello.")
    script.when("forget the tea").cancels("shop.buy")
    return script


def shopping(boundary: BoundaryHarness, shop: Shop) -> Conversation:
    """One thread with the shop."""
    return Conversation(boundary, shop_agent(shop), gateway=shop_script())


def _wrote(fact_type: str, message: str, value: JsonValue) -> Completed:
    evidence = EvidenceRecord(id=f"{fact_type}:1", source="external", content=message, data=value)
    return Completed(
        Outcome(reference=fact_type),
        facts=(FactCandidate(type=fact_type, value=value, evidence_ids=(evidence.id,)),),
        evidence=(evidence,),
        canonical_response=CanonicalResponse(message),
    )


def _write(
    capability_id: str,
    description: str,
    execute: object,
    provides: str,
    confirmation: str,
    *,
    requires: tuple[FactRequirement, ...] = (),
    version: int = 1,
) -> CapabilityDefinition:
    return CapabilityDefinition(
        id=capability_id,
        version=version,
        description=description,
        input=Item,
        output=Outcome,
        execute=execute,  # type: ignore[arg-type]
        effect="write",
        confirmation=confirmation,  # type: ignore[arg-type]
        requires=requires,
        provides=(FactDeclaration(type=provides),),
        result=dict,
        describe=lambda payload: Summary(title=f"{capability_id} of {payload}"),
        call_timeout_seconds=5.0,
    )
