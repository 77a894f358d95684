"""The review of a drafted answer: one model reads all of it against the brief, cited or not (contract 2.12, G2 and G4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, cast

from pydantic import Field

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.wire import Text, WireModel
from intention_kernel.ports.model_gateway import ModelTask
from intention_kernel.runtime.stages.asking import Answered, Ask, Models, Unusable
from intention_kernel.runtime.stages.composing.brief import Brief
from intention_kernel.runtime.stages.composing.canonical import Copy

_REVIEW_KEYS = ("response.grounding-review",)
_REPAIR_KEYS = ("response.grounding-review.repair", "response.grounding-review")


class GroundingReview(WireModel):
    """What a reviewer found. Its verdict alone approves nothing: see `objections`."""

    verdict: Literal["supported", "unsupported"]
    continuity_verdict: Literal["supported", "violated"]
    decision_verdict: Literal["supported", "violated"]
    unsupported_claims: Annotated[tuple[Text, ...], Field(strict=False)]
    approved_claim_indexes: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False)]

    def objections(self, draft: Copy) -> tuple[str, ...]:
        """Why the draft is not supported; none only if each claim is approved and nothing at all is held against it."""
        return tuple(self._objections(draft))

    def _objections(self, draft: Copy) -> Iterator[str]:
        yield from (f"The evidence does not support: {claim}" for claim in self.unsupported_claims)
        for index, claim in enumerate(draft.claims):
            if index not in self.approved_claim_indexes:
                yield f"The reviewer did not approve what this part claims: {claim.text}"
        if self.continuity_verdict == "violated":
            yield "The answer does not fit the conversation or what is pending in it."
        if self.decision_verdict == "violated":
            yield "The answer says that something was decided or done otherwise than the brief does."
        if self.verdict == "unsupported":
            yield "As a whole the answer says more than the brief supports."


async def review(draft: Copy, brief: Brief, models: Models) -> tuple[str, ...] | Unusable:
    """The objections to a draft, none if it is supported. A review without the form asked for is asked for once more."""
    answer = await models.ask(
        _ask("response.grounding-review", "kernel.response.grounding-review", _REVIEW_KEYS, draft, brief)
    )
    if isinstance(answer, Unusable):
        answer = await models.ask(
            _ask(
                "response.grounding-review.repair",
                "kernel.response.grounding-review.repair",
                _REPAIR_KEYS,
                draft,
                brief,
            )
        )
    return answer.value.objections(draft) if isinstance(answer, Answered) else answer


def draft_json(draft: Copy, brief: Brief) -> JsonValue:
    """A draft as models read it."""
    claims: list[JsonValue] = [{"text": claim.text, "evidenceIds": list(claim.evidence_ids)} for claim in draft.claims]
    return brief.redactions.value({"message": draft.message, "claims": claims})


def _ask(
    task: ModelTask, prompt_id: str, model_keys: tuple[str, ...], draft: Copy, brief: Brief
) -> Ask[GroundingReview]:
    shown = draft_json(draft, brief)
    return Ask(
        task=task,
        prompt_id=prompt_id,
        input={"response": shown, "brief": cast("JsonValue", brief.document)},
        answer=GroundingReview,
        model_keys=model_keys,
        audit={"responseGoal": brief.document["responseGoal"], "proposedResponse": shown},
    )
