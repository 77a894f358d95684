"""The answer of a turn: in words of its own where it has them, else by a model that a second one checks (contract 2.12)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import cast

from intention_kernel.agent.results import ResponseClaim
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import (
    InfrastructureError,
    LeaseLostError,
    ModelGatewayError,
    TurnHeldError,
)
from intention_kernel.runtime.stages.asking import Answered, Ask, Models, Unusable
from intention_kernel.runtime.stages.composing.brief import Brief, build_brief
from intention_kernel.runtime.stages.composing.canonical import BETWEEN, Copy
from intention_kernel.runtime.stages.composing.claims import ComposedAnswer
from intention_kernel.runtime.stages.composing.review import draft_json, review
from intention_kernel.runtime.stages.composing.told import notices_of_blocked
from intention_kernel.runtime.stages.composition import Composition, ResponseSource
from intention_kernel.runtime.stages.turn_outcome import TurnOutcome

logger = logging.getLogger(__name__)

APOLOGY = "I could not put my answer into words. What has been done stays done; please ask me again."
"""The technical response: composing failed after all else had happened, and nothing of that is taken back."""
UNEXPECTED = "UNEXPECTED_ERROR"
_NOT_OURS = (InfrastructureError, LeaseLostError, TurnHeldError)
"""Nothing can be committed, or not by this attempt, so there is no answer to make."""
_MODEL_KEYS = ("response.compose",)


async def answer_turn(turn: TurnOutcome, models: Models) -> Composition:
    """The brief and the answer. Raises nothing of composing: a failure there is a technical response.

    Cancellation, a lost lease, a held turn and infrastructure that is away are not of composing.
    """
    try:
        return await _composed(build_brief(turn), models)
    except _NOT_OURS:
        raise
    except Exception as error:  # noqa: BLE001 - the turn's effects are done, and its commit must not depend on words
        notices = [notice.text for notice in notices_of_blocked(turn)]
        return _technical(error, notices, turn.state.interaction)


async def compose(brief: Brief, models: Models) -> Composition:
    """`answer_turn` for a brief that is made already."""
    delivery = brief.delivery
    try:
        return await _composed(brief, models)
    except _NOT_OURS:
        raise
    except Exception as error:  # noqa: BLE001 - as above
        return _technical(error, [notice.message for notice in delivery.notices], delivery.interaction)


async def _composed(brief: Brief, models: Models) -> Composition:
    if brief.delivery.path != "model":
        return _verified_canonical(brief)
    draft = await _draft(brief, models)
    if isinstance(draft, Unusable) and _verified(brief) is not None:
        return _verified_canonical(brief)
    objections = await _objections(draft, brief, models)
    if isinstance(objections, Unusable):
        return _verified_canonical(brief, objections)
    if objections:
        draft, objections = await _repaired(draft, objections, brief, models)
        if isinstance(objections, Unusable):
            return _verified_canonical(brief, objections)
    if objections or isinstance(draft, Unusable):
        return _verified_canonical(brief)
    return _composition(draft, "model", brief)


async def _objections(draft: Copy | Unusable, brief: Brief, models: Models) -> tuple[str, ...] | Unusable:
    """All that is wrong with a draft: what can be seen, and what a reviewer finds; the reviewer reads every draft (G2)."""
    if isinstance(draft, Unusable):
        return draft.issues or ("The answer has not the form asked for.",)
    found = await review(draft, brief, models)
    return found if isinstance(found, Unusable) else (*brief.delivery.requirements.problems(draft), *found)


async def _draft(brief: Brief, models: Models) -> Copy | Unusable:
    answer = await models.ask(
        Ask(
            task="response.compose",
            prompt_id="kernel.response.compose",
            input=brief.document,
            answer=ComposedAnswer,
            model_keys=_MODEL_KEYS,
            audit=_audit(brief),
        )
    )
    return _draft_of(answer, brief)


async def _repaired(
    draft: Copy | Unusable, issues: tuple[str, ...], brief: Brief, models: Models
) -> tuple[Copy | Unusable, tuple[str, ...] | Unusable]:
    """The one other draft, and what is wrong with that."""
    rejected = draft.raw if isinstance(draft, Unusable) else draft_json(draft, brief)
    told = {"rejectedResponse": rejected, "issues": list[JsonValue](issues)}
    shown = cast("dict[str, JsonValue]", brief.redactions.value(cast("JsonValue", told)))
    answer = await models.ask(
        Ask(
            task="response.compose.repair",
            prompt_id="kernel.compose-response.compose-repair",
            input={"brief": cast("JsonValue", brief.document), **shown},
            answer=ComposedAnswer,
            model_keys=_MODEL_KEYS,
            audit=_audit(brief) | {"rejectedProposal": shown["rejectedResponse"], "validationIssues": shown["issues"]},
        )
    )
    repaired = _draft_of(answer, brief)
    return repaired, repaired if isinstance(repaired, Unusable) else await _objections(repaired, brief, models)


def _draft_of(answer: Answered[ComposedAnswer] | Unusable, brief: Brief) -> Copy | Unusable:
    """The draft with the evidence's own ids, which the model may have read redacted."""
    if isinstance(answer, Unusable):
        return answer
    copy = answer.value.copy_of_it()
    claims = (
        ResponseClaim(
            claim.text,
            tuple(original for shown in claim.evidence_ids for original in brief.evidence_ids.get(shown, (shown,))),
        )
        for claim in copy.claims
    )
    return Copy(copy.message, tuple(claims))


def _verified(brief: Brief) -> Copy | None:
    """The canonical words, if they are all there and stand every check."""
    canonical = brief.delivery.canonical
    if canonical is None or brief.delivery.requirements.problems(canonical):
        return None
    return canonical


def _verified_canonical(brief: Brief, unusable: Unusable | None = None) -> Composition:
    canonical = _verified(brief)
    if canonical is not None:
        return _composition(canonical, "canonical", brief)
    if unusable is not None:
        raise ModelGatewayError("MODEL_OUTPUT_INVALID", "; ".join(unusable.issues))
    raise ModelGatewayError("UNGROUNDED_RESPONSE", "no draft was supported, and there are no words that need none")


def _composition(answer: Copy, source: ResponseSource, brief: Brief) -> Composition:
    delivery = brief.delivery
    return Composition(
        message=answer.message,
        source=source,
        grounded=True,
        claims=answer.claims,
        interaction=delivery.interaction,
        artifacts=delivery.artifacts,
    )


def _technical(error: Exception, notices: Sequence[str], interaction: Interaction | None) -> Composition:
    """Ours to say whatever has failed: that it has, and which effects are in doubt. The open question stays shown."""
    code = error.code if isinstance(error, ModelGatewayError) else UNEXPECTED
    if code == UNEXPECTED:
        logger.error("composing an answer failed", exc_info=error)
    return Composition(
        message=BETWEEN.join((*notices, APOLOGY)),
        source="technical_fallback",
        grounded=False,
        interaction=interaction,
        failure_code=code,
    )


def _audit(brief: Brief) -> dict[str, JsonValue]:
    return {"responseGoal": brief.document["responseGoal"], "completedWork": brief.document["completed"]}
