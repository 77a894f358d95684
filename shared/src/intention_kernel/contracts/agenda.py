"""The agenda: work that a thread has in hand. Much of an item is private and never reaches a model, a capability or an event."""

from __future__ import annotations

from typing import Literal

from intention_kernel.contracts.facts import FactReference
from intention_kernel.contracts.intentions import IntentionRequest
from intention_kernel.contracts.interactions import Interaction, InteractionAnswer
from intention_kernel.contracts.wire import AnyJson, StoredModel, Text

AgendaStatus = Literal["waiting_input", "waiting_facts", "waiting_confirmation", "blocked"]


class MissingFact(FactReference):
    """A fact that a step waits for, in words that a model may read."""

    description: Text = ""


class DeferredChoiceAnswer(StoredModel):
    """An exact answer to a choice whose owner has not run yet; delivered once, to the same intention."""

    interaction: Interaction
    answer: InteractionAnswer


class FrozenStep(StoredModel):
    """A step as it was when it was planned: what a confirmation or a settlement resumes, exactly.

    `input` is the validated input as JSON. `trigger` says what started it.
    """

    step_id: str
    capability_id: str
    capability_version: int
    intention: IntentionRequest
    input: AnyJson
    continuation: AnyJson = None
    interaction: Interaction | None = None
    answer: InteractionAnswer | None = None
    trigger: Literal["user", "dependency", "resume"] = "user"


class BlockedReceipt(StoredModel):
    """A receipt that nobody can vouch for yet; `title` is the effect's own word for it."""

    effect_key: str
    receipt_id: str
    title: Text


class BlockedStep(StoredModel):
    """A step that waits for receipts to be settled.

    `turn_id` is the turn whose journal holds what the step saw. `earlier` are the writes that this turn had finished
    before, in order: a continuation meets them again before it goes on (protocol R15).
    """

    turn_id: str
    step: FrozenStep
    receipts: tuple[BlockedReceipt, ...]
    earlier: tuple[FrozenStep, ...] = ()


class AgendaItem(StoredModel):
    """One piece of unfinished work.

    Public: id, intention, status, missing_facts, dependencies. Private: the rest.
    `interaction` is the question that the item waits with, whether or not it is the active one: no question is lost when
    another one is shown. `frozen` is the operation that a confirmation will resume. `owned_dependency_ids` are the items of
    providers that were started for this one. `completed_follow_up` says that the work itself is done.
    """

    id: str
    intention: IntentionRequest
    status: AgendaStatus
    missing_facts: tuple[MissingFact, ...] = ()
    dependencies: tuple[str, ...] = ()
    capability_id: str | None = None
    continuation: AnyJson = None
    model_redactions: tuple[Text, ...] = ()
    interaction: Interaction | None = None
    frozen: FrozenStep | None = None
    blocked: BlockedStep | None = None
    owned_dependency_ids: tuple[str, ...] = ()
    deferred_choice_answer: DeferredChoiceAnswer | None = None
    completed_follow_up: bool = False
    optional_input: bool = False

    def public(self) -> AgendaItem:
        """The item as a model, a policy, a capability or an event may see it."""
        return AgendaItem(**{name: getattr(self, name) for name in PUBLIC_MEMBERS})


PUBLIC_MEMBERS = ("id", "intention", "status", "missing_facts", "dependencies")
"""Of an agenda item, by attribute name; a model, a capability or an event may see these and no others.

Always in this order: a retry in another process has to ask models, byte for byte, what was asked before (protocol R17).
"""
