"""What a text claims, and what is wrong with it as far as that can be seen without a model (contract 2.12)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from intention_kernel.agent.results import ResponseClaim
from intention_kernel.contracts.wire import Text, WireModel
from intention_kernel.runtime.stages.composing.canonical import Copy

DECISION_EVIDENCE = "turn.decision"
"""The evidence of what the kernel decided; small talk has none to show."""


class ComposedPart(WireModel):
    """A stretch of the answer, and the evidence that supports all that it says; none where it states nothing."""

    text: Annotated[Text, Field(min_length=1)]
    evidence_ids: Annotated[tuple[Text, ...], Field(strict=False)] = ()


class ComposedAnswer(WireModel):
    """An answer as a model drafts it: parts that are read one after the other."""

    parts: Annotated[tuple[ComposedPart, ...], Field(min_length=1, strict=False)]

    def copy_of_it(self) -> Copy:
        """The text, and its claims: the parts that cite, word for word, so that claim and text cannot differ (G1)."""
        return Copy(
            "".join(part.text for part in self.parts),
            tuple(
                ResponseClaim(part.text, tuple(dict.fromkeys(part.evidence_ids)))
                for part in self.parts
                if part.evidence_ids
            ),
        )


@dataclass(frozen=True, slots=True)
class Requirements:
    """What an answer has to hold and may cite. `goal` is the question that has to stand in it, exactly, at its end."""

    required: tuple[Copy, ...]
    goal: str | None
    known: frozenset[str]
    conversational: bool

    def problems(self, answer: Copy) -> tuple[str, ...]:
        """All that is wrong with the answer, in words that a repair can follow; none where nothing is."""
        found = (
            *self._problems_of_texts(answer.message),
            *self._problems_of_goal(answer.message),
            *self._problems_of_claims(answer),
        )
        return tuple(dict.fromkeys(found))

    def _problems_of_texts(self, message: str) -> Iterator[str]:
        if not message.strip():
            yield "The answer is blank."
        for text in self._texts():
            if (count := occurrences(message, text)) != 1:
                yield f"This required text has to appear exactly once, word for word, and appears {count} times: {text}"

    def _problems_of_goal(self, message: str) -> Iterator[str]:
        if self.goal is None:
            return
        if (count := occurrences(message, self.goal)) != 1:
            yield f"This question has to appear exactly once, word for word, and appears {count} times: {self.goal}"
            return
        end = message.find(self.goal) + len(self.goal)
        if any(message.find(text) + len(text) > end for text in self._texts()):
            yield f"This question has to come after every required text: {self.goal}"

    def _problems_of_claims(self, answer: Copy) -> Iterator[str]:
        for claim in answer.claims:
            if not claim.text or claim.text not in answer.message:
                yield f"This claim is no part of the answer: {claim.text}"
            if unknown := [evidence_id for evidence_id in claim.evidence_ids if evidence_id not in self.known]:
                yield f"There is no evidence {', '.join(unknown)}, which this part cites: {claim.text}"
            if self.conversational and DECISION_EVIDENCE in claim.evidence_ids:
                yield f"Nothing was decided, so {DECISION_EVIDENCE} supports nothing: {claim.text}"
        for needed in (claim for copy in self.required for claim in copy.claims):
            if not any(_covers(claim, needed) for claim in answer.claims):
                yield f"One part has to hold this and cite {', '.join(needed.evidence_ids)}: {needed.text}"

    def _texts(self) -> tuple[str, ...]:
        """The required texts, without those that another one holds."""
        texts = tuple(dict.fromkeys(copy.message for copy in self.required))
        return tuple(text for text in texts if not any(text != other and text in other for other in texts))


def occurrences(text: str, part: str) -> int:
    """How often `part` begins in `text`; places that overlap count."""
    count, at = 0, text.find(part)
    while at >= 0:
        count, at = count + 1, text.find(part, at + 1)
    return count


def _covers(claim: ResponseClaim, needed: ResponseClaim) -> bool:
    return needed.text in claim.text and set(needed.evidence_ids) <= set(claim.evidence_ids)
