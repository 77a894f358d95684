"""Four eyes: which decisions need a second person, what was proposed, and what became of it (design 7)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal, Protocol

from intention_kernel.contracts.receipt import Summary
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.operator_queue import Decides, OperatorQueue
from intention_kernel.ports.queue_work import Held, IdTaken
from intention_kernel.ports.receipt_ledger import Changed, Late, Resolution, Settlement, Unknown

EffectClass = Literal["keyed", "single"]
"""keyed: its provider certified, when it was first prepared, that the same key and payload inside a window is the same effect;
single: a repeat is another effect."""
ProposalState = Literal["proposed", "approved", "rejected", "withdrawn", "expired", "overtaken"]
"""expired: its time was over before anybody closed it; overtaken: the receipt moved, so that it can never be approved."""


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """A decision that meets every condition needs a second person; None: any.

    `least_amount` is of `currency`, which goes with it. `window_closed`: only where a call that is sent now can no longer be
    relied on to be the same effect at its provider. `expires_seconds`: how long what it asks for may wait.
    """

    rule_id: str
    effects: frozenset[str] | None = None
    tenants: frozenset[str] | None = None
    classes: frozenset[EffectClass] | None = None
    resolutions: frozenset[Resolution] | None = None
    least_amount: Decimal | None = None
    currency: str | None = None
    window_closed: bool = False
    expires_seconds: float = 86_400.0
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class NewProposal:
    """A decision that waits for a second person. `settlement` is exactly what will be written, with the proposer as its actor;
    `decision_hash` binds it, the receipt's version and the statement `workers_stopped`. `rules` are those that ask for it."""

    proposal_id: str
    receipt_id: str
    settlement: Settlement
    workers_stopped: bool
    decision_hash: str
    rules: tuple[str, ...]
    expires_seconds: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal and what became of it. `state` is judged at the read: an open one past `expires_at` on the store's clock is
    expired, one whose receipt moved is overtaken.

    `closed_by` is who approved, rejected or withdrew it, with `closing_reason`.
    """

    proposal_id: str
    receipt_id: str
    settlement: Settlement
    workers_stopped: bool
    decision_hash: str
    rules: tuple[str, ...]
    proposer: str
    proposed_at: datetime
    expires_at: datetime
    state: ProposalState
    closed_by: str | None
    closed_at: datetime | None
    closing_reason: str | None
    tenant_id: str | None
    effect_id: str
    summary: Summary


@dataclass(frozen=True, slots=True)
class Proposed:
    """Kept, now or by an earlier call with this content; one whose id the caller repeats may be over by now."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class OtherProposal:
    """Another decision about this receipt waits already; one waits at a time."""

    proposal_id: str
    proposer: str


@dataclass(frozen=True, slots=True)
class NoSuchProposal:
    """There is none of that id."""


@dataclass(frozen=True, slots=True)
class NotOpen:
    """It is over already."""

    state: ProposalState


@dataclass(frozen=True, slots=True)
class HashDiffers:
    """What was approved is not what is proposed."""


@dataclass(frozen=True, slots=True)
class SelfApproval:
    """Nobody approves their own proposal, by whatever token."""


@dataclass(frozen=True, slots=True)
class NotProposer:
    """Only who proposed it withdraws it; others reject it."""

    proposer: str


@dataclass(frozen=True, slots=True)
class Closed:
    """It is over, now or by an earlier call that did the same."""

    proposal: Proposal


ProposeAnswer = Proposed | Decides | OtherProposal | IdTaken | Held | Changed | Late | Unknown
ApproveAnswer = Decides | NoSuchProposal | NotOpen | HashDiffers | SelfApproval | Held | Changed | Late
CloseAnswer = Closed | NoSuchProposal | NotOpen | NotProposer


class Approvals(Protocol):
    """Every call raises InfrastructureError where the store cannot answer, and may then be repeated with the same values.
    What changes anything writes its audit line in the same transaction."""

    async def rules(self) -> tuple[ApprovalRule, ...]:
        """All of them, by id, disabled ones too."""
        ...

    async def set_rule(self, rule: ApprovalRule, actor: str) -> None:
        """Make it, or replace the one of that id."""
        ...

    async def propose(self, proposal: NewProposal, *, look_only: bool) -> ProposeAnswer:
        """Keep it, if the receipt is as the settlement says it was seen, it would be decided now, and nothing else waits.

        What waited and is expired or overtaken makes room. `look_only`: the same path, with nothing written; what would be
        kept answers Decides, which is what its approval would bring.
        """
        ...

    async def proposal(self, proposal_id: str) -> Proposal | None:
        """None where there is none."""
        ...

    async def proposal_of(self, receipt_id: str) -> Proposal | None:
        """The last one of a receipt, open or over."""
        ...

    async def proposals(self, scope: Scope, limit: int) -> tuple[Proposal, ...]:
        """Those within reach that are open, the next to expire first."""
        ...

    async def approve(
        self, proposal_id: str, decision_hash: str, actor: str, reason: str | None, not_after: datetime | None
    ) -> ApproveAnswer:
        """Write the proposed settlement, as its proposer's, and close the proposal, in one transaction. `not_after` is until when
        it is admitted (R22). A claim of neither of the two is honoured. A repeat by the same person answers the same."""
        ...

    async def reject(self, proposal_id: str, actor: str, reason: str) -> CloseAnswer: ...

    async def withdraw(self, proposal_id: str, actor: str, reason: str | None) -> CloseAnswer:
        """By its proposer alone."""
        ...


class DecidingQueue(OperatorQueue, Approvals, Protocol):
    """Both ports over one store: decisions ask the rules."""
