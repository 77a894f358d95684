"""What the state machine of compiled agents talks to: a shop whose every secret is marked, and the ledger of its provider."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Final, Literal

from intention_kernel.agent import (
    AgentDefinition,
    CanonicalResponse,
    CapabilityDefinition,
    CapabilityExecutionContext,
    CapabilityResult,
    CompiledAgent,
    Completed,
    EffectAuthority,
    EffectNotAppliedError,
    EvidenceRecord,
    FactCandidate,
    FactDeclaration,
    Interaction,
    InteractionOption,
    NeedsConfirmation,
    Summary,
    compile_agent,
)
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.testing.agent_world import Item, Outcome

HOST = "canary-of-the-host"
PORT = "canary-of-the-port"
PROTECTED = "canary-for-the-user-alone"
CONTINUATION = "canary-of-a-continuation"
REDACTED = "canary-that-is-redacted"
HIDDEN = "canary-of-a-hidden-fact"

BUY_SECONDS = 600
VERSIONS = (1, 2)

Fate = Literal["applied", "lost", "never", "refused"]
"""Of a call: done and answered · done, and the reply is lost · not done, and nobody can tell · not done, and said so."""

NAMES: Final = ("tea", "jam")
WRITES: Final = ("shop.buy", "shop.rent", "shop.send")


@dataclass(frozen=True, slots=True)
class Call:
    """What reached the provider: under which key, what for, and what became of it."""

    key: str
    what: tuple[str, str]
    fate: Fate


@dataclass(slots=True)
class Ledger:
    """The provider's own book. `fates` are those of the next calls; where none is set the call is done and answered."""

    calls: list[Call] = field(default_factory=list)
    fates: list[Fate] = field(default_factory=list)
    secret: str = PORT

    def applied(self, key: str) -> int:
        """How often the effect of that key really happened."""
        return sum(call.key == key and call.fate in ("applied", "lost") for call in self.calls)

    def write(self, authority: EffectAuthority, what: tuple[str, str]) -> JsonValue:
        """One external write."""
        fate = self.fates.pop(0) if self.fates else "applied"
        self.calls.append(Call(authority.idempotency_key, what, fate))
        match fate:
            case "refused":
                raise EffectNotAppliedError("The shop has none left.")
            case "lost" | "never":
                raise ConnectionError("no reply")
        return {"reference": authority.idempotency_key}


@cache
def machine_agent(version: int) -> CompiledAgent:
    """The shop as a build whose shop.buy has that version; each build goes on with threads of the other."""
    others = tuple(_agent(other, ()).fingerprint for other in VERSIONS if other != version)
    return _agent(version, others)


def _agent(version: int, accepts: tuple[str, ...]) -> CompiledAgent:
    return compile_agent(
        AgentDefinition(
            id="shop",
            identity="The assistant of a small shop.",
            accepts_fingerprints=accepts,
            capabilities=(
                CapabilityDefinition(
                    id="shop.find",
                    description="Look for a thing on the shelf",
                    input=Item,
                    output=Outcome,
                    execute=_find,
                    effect="read",
                    provides=(
                        FactDeclaration(type="shelf", derive_model_redactions=lambda value: (REDACTED,)),
                        FactDeclaration(type="cellar", model_visibility="hidden"),
                    ),
                ),
                _write("shop.buy", "required", version=version, expires_seconds=BUY_SECONDS),
                _write("shop.rent", "required"),
                _write("shop.send", "capability"),
            ),
        )
    )


async def _find(context: CapabilityExecutionContext, item: Item) -> CapabilityResult:
    await context.events.emit("graph.node-done", {"node": item.name})
    evidence = EvidenceRecord(id=f"shelf:{item.name}", source="external", content=f"{item.name}, code {REDACTED}")
    facts = (
        FactCandidate(type="shelf", value={"name": item.name, "code": REDACTED}, evidence_ids=(evidence.id,)),
        FactCandidate(type="cellar", value=HIDDEN, evidence_ids=(evidence.id,)),
    )
    return Completed(Outcome(reference=item.name), facts=facts, evidence=(evidence,))


async def _order(context: CapabilityExecutionContext, item: Item) -> CapabilityResult:
    """The kernel has asked: a call is one order, which has an id of its own."""
    ledger = context.ports["ledger"]
    assert isinstance(ledger, Ledger)
    capability_id = context.execution.capability_id

    async def order(authority: EffectAuthority) -> JsonValue:
        return ledger.write(authority, (capability_id, item.name))

    await context.run_effect(context.new_id("order"), order)
    message = f"Done: {capability_id} {item.name}."
    return Completed(Outcome(reference=item.name), canonical_response=CanonicalResponse(message))


async def _send(context: CapabilityExecutionContext, item: Item) -> CapabilityResult:
    """It asks by itself, and writes only after a yes to its own question."""
    answer = context.turn.interaction_answer
    if answer is not None and answer.value is True:
        return await _order(context, item)
    question = Interaction(
        id=f"send-{item.name}",
        kind="confirmation",
        goal=f"Shall I send {item.name}?",
        options=(
            InteractionOption(id="yes", label="Yes", value=True),
            InteractionOption(id="no", label="No", value=False),
        ),
        protected_canonical_message=f"The address is {PROTECTED}.",
    )
    return NeedsConfirmation(question, proposed_input={"name": item.name}, continuation={"address": CONTINUATION})


def _write(
    capability_id: str, confirmation: Literal["required", "capability"], **members: object
) -> CapabilityDefinition:
    return CapabilityDefinition(
        id=capability_id,
        description=f"Does {capability_id}",
        input=Item,
        output=Outcome,
        execute=_send if confirmation == "capability" else _order,
        effect="write",
        confirmation=confirmation,
        result=dict,
        describe=lambda payload: Summary(title=f"{capability_id} of {payload}"),
        call_timeout_seconds=5.0,
        **members,  # type: ignore[arg-type]
    )
