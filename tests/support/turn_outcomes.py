"""Turns with everything done but the answer, for tests of brief, compose and review."""

from __future__ import annotations

from collections.abc import Sequence

from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.agent.context import ReceiptReference
from intention_kernel.agent.results import CanonicalResponse, CapabilityResult, Completed, ResponseClaim
from intention_kernel.contracts.agenda import AgendaItem, BlockedReceipt
from intention_kernel.contracts.facts import EvidenceRecord, Facts
from intention_kernel.contracts.intentions import IntentionBatch, IntentionRequest
from intention_kernel.contracts.interactions import Interaction, InteractionAnswer
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.receipt import ReceiptState
from intention_kernel.runtime.stages.context.context import build_context
from intention_kernel.runtime.stages.interpretation import Interpretation
from intention_kernel.runtime.stages.outcomes import BlockedResult, Skipped, StepIssue, StepOutcome
from intention_kernel.runtime.stages.redactions import Redactions
from intention_kernel.runtime.stages.selection import Selection, SelectionMode
from intention_kernel.runtime.stages.snapshot import ContextSnapshot
from intention_kernel.runtime.stages.state import KernelState
from intention_kernel.runtime.stages.turn_outcome import SettledEffect, TurnOutcome
from intention_kernel.runtime.stages.turn_plan import Disposition, PlanStep, ReasonCode, StepReason, TurnPlan

from tests.support.kernel import agent, capability, view, write

AGENT = agent(capability("hotel.find"), capability("hotel.rates"), write("hotel.book"))
SUPPORTED: dict[str, JsonValue] = {
    "verdict": "supported",
    "continuityVerdict": "supported",
    "decisionVerdict": "supported",
    "unsupportedClaims": [],
    "approvedClaimIndexes": [0, 1, 2, 3, 4],
}


def step(
    step_id: str,
    capability_id: str | None = "hotel.find",
    disposition: Disposition = "execute",
    code: ReasonCode = "READY",
    message: str = "",
) -> PlanStep:
    """A planned step; its objective names it."""
    intention = IntentionRequest(
        id=f"intention-{step_id}",
        objective=f"objective of {step_id}",
        resolution="resolved",
        proposed_capability=capability_id,
    )
    return PlanStep(step_id, intention, capability_id, disposition, StepReason(code, message or code.lower()))


def done(
    step_id: str,
    message: str | None = None,
    *,
    required: bool = False,
    output: JsonValue = None,
    capability_id: str = "hotel.find",
    interaction: Interaction | None = None,
    redactions: tuple[str, ...] = (),
) -> StepOutcome:
    """A completed step with evidence `evidence-<step>`; with `message` in words of its own."""
    evidence = EvidenceRecord(id=f"evidence-{step_id}", source="capability", content=f"support of {step_id}")
    claims = (ResponseClaim(message, (evidence.id,)),) if message else ()
    canonical = CanonicalResponse(message, claims, required) if message else None
    completed = Completed(output={} if output is None else output, evidence=(evidence,), canonical_response=canonical)
    if interaction is not None:
        completed = Completed(
            output={},
            evidence=(evidence,),
            canonical_response=canonical,
            interaction=interaction,
            model_redactions=redactions,
        )
    return StepOutcome(step(step_id, capability_id), completed)


def blocked(step_id: str, receipt_id: str, title: str = "the booking") -> StepOutcome:
    """A step that waits for one receipt."""
    receipt = BlockedReceipt(effect_key=f"hotel.book:{receipt_id}", receipt_id=receipt_id, title=title)
    return StepOutcome(step(step_id, "hotel.book"), BlockedResult((receipt,)))


def ended(step_id: str, result: CapabilityResult | Skipped | BlockedResult, *receipts: ReceiptReference) -> StepOutcome:
    """A step that ended so."""
    return StepOutcome(step(step_id), result, receipts)


def question(goal: str = "Which date?", *, interaction_id: str = "q-1", **members: object) -> Interaction:
    """An input question, required if nothing else is said."""
    defaults: dict[str, object] = {"id": interaction_id, "kind": "input", "goal": goal, "capability_id": "hotel.book"}
    return Interaction(**(defaults | members))


def settled(state: ReceiptState = "completed", receipt_id: str = "r-1", title: str = "the booking") -> SettledEffect:
    """A receipt that was settled."""
    return SettledEffect(title, ReceiptReference(receipt_id, "hotel.book:1", state, 1))


def snapshot(compiled: CompiledAgent, text: str, **members: object) -> ContextSnapshot:
    """The context of a turn with that text."""
    found = build_context(view(compiled, text, **members))  # type: ignore[arg-type]
    assert isinstance(found, ContextSnapshot)
    return found


def turn(
    *outcomes: StepOutcome,
    planned: Sequence[PlanStep] = (),
    shown: Interaction | None = None,
    before: Interaction | None = None,
    facts: Facts | None = None,
    agenda: tuple[AgendaItem, ...] = (),
    cancelled: tuple[str, ...] = (),
    asked_by_plan: Interaction | None = None,
    answer: InteractionAnswer | None = None,
    issues: tuple[StepIssue, ...] = (),
    redacted: Sequence[str] = (),
    settlement: SettledEffect | None = None,
    mode: SelectionMode = "open",
    text: str = "hello",
    compiled: CompiledAgent = AGENT,
) -> TurnOutcome:
    """A turn of these outcomes; `planned` are steps beside the executed ones."""
    steps = (*(outcome.step for outcome in outcomes), *planned)
    plan = TurnPlan(steps, "Answer the user", asked_by_plan, cancelled_item_ids=cancelled)
    batch = IntentionBatch(answer_to_interaction=answer)
    return TurnOutcome(
        snapshot=snapshot(compiled, text, facts=facts, agenda=agenda, interaction=before),
        plans=(plan,),
        outcomes=outcomes,
        state=KernelState((), facts or {}, agenda, shown),
        redactions=Redactions.of(redacted),
        selection=None if settlement else Selection("single_capability", mode, (), "why"),
        interpretation=None if settlement else Interpretation("model", batch),
        issues=issues,
        settled=settlement,
    )


def draft(*parts: tuple[str, list[str]]) -> JsonValue:
    """What a composing model answers."""
    return {"parts": [{"text": text, "evidenceIds": list[JsonValue](ids)} for text, ids in parts]}
