"""What the one repair may do that a first proposal may not, and what it has to keep (contract 2.6)."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.contracts.intentions import IntentionBatch
from intention_kernel.contracts.interactions import InteractionAnswer
from intention_kernel.runtime.stages.interpreting.interpret_frame import (
    Frame,
    IssueCode,
    Issues,
    proposed_ids,
    same_answer,
)

_DOUBTED_ANSWER: frozenset[IssueCode] = frozenset(
    {"UNSUPPORTED_CHOICE_ANSWER", "UNSUPPORTED_CONFIRMATION_ANSWER", "CONFIRMATION_ANSWER_NOT_BOOLEAN"}
)
_DOUBTED_EXTRAS: frozenset[IssueCode] = frozenset(
    {"UNSUPPORTED_CONFIRMATION_INTENTIONS", "UNSUPPORTED_CHOICE_INTENTIONS"}
)


@dataclass(frozen=True, slots=True)
class Repair:
    """The rejected batch and why; `batch` is None where the answer did not even have the form."""

    batch: IntentionBatch | None
    issues: Issues

    def keeps_answer(self, repaired: IntentionBatch) -> bool:
        """Whether an answer that was not in doubt is still there: extras may go, and it stays; a mismatch is corrected."""
        if self.batch is None:
            return True
        if self._has("MISMATCHED_CHOICE_ANSWER"):
            return repaired.answer_to_interaction is not None
        if self._codes & _DOUBTED_EXTRAS:
            return same_answer(self.batch.answer_to_interaction, repaired.answer_to_interaction)
        return True

    def permits_nothing(self, frame: Frame, repaired: IntentionBatch) -> bool:
        """Whether the repair may say that nothing was asked after all.

        It may where what is given up was in doubt and nothing else was meant: an answer to the active question (which then
        stays open), an inferred operation beside it, or an abandonment of work.
        """
        before = self.batch
        if before is None or _says_something(repaired):
            return False
        if self._codes & _DOUBTED_ANSWER or (self._has("EMPTY_BATCH") and frame.is_confirmation):
            return proposed_ids(before) | set(frame.selection.capability_ids) <= frame.active_ids
        if self._has("UNSUPPORTED_UNANSWERED_CHOICE_EXTRAS"):
            return not proposed_ids(before) & frame.active_ids and not repaired.contradictions
        return self._has("UNSUPPORTED_LIFECYCLE_ACTIONS") and not before.intentions

    @property
    def supported(self) -> InteractionAnswer | None:
        """The answer that reviews have supported already: it is kept, and not reviewed again."""
        return self.batch.answer_to_interaction if self.batch is not None and self._codes & _DOUBTED_EXTRAS else None

    @property
    def _codes(self) -> frozenset[IssueCode]:
        return frozenset(issue.code for issue in self.issues)

    def _has(self, *codes: IssueCode) -> bool:
        return not self._codes.isdisjoint(codes)


def _says_something(batch: IntentionBatch) -> bool:
    return bool(batch.answer_to_interaction is not None or batch.intentions or batch.lifecycle_actions)
