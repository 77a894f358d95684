"""What the API takes and answers, for validation of what comes and for the OpenAPI document.

Answers are made by `reconciliation.document` of the values of the ports; their shapes are made of the same values, so that
neither can be changed without the other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, get_type_hints

from intention_kernel.contracts.receipt import Receipt, ReceiptTransition, Summary
from intention_kernel.ports.approvals import ApprovalRule, Proposal
from intention_kernel.ports.identity import Role, Token, User
from intention_kernel.ports.operator_queue import Decided, ItemHistory, QueueItem, Seen
from intention_kernel.ports.queue_work import AuditLine, Work, Written
from intention_kernel.ports.receipt_ledger import AttemptFacts, Settlement
from intention_kernel.reconciliation.consequences import Consequences
from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model
from pydantic.alias_generators import to_camel

from receipt_reconciler.web.api.problems import CODES

ANSWER = ConfigDict(alias_generator=to_camel)

AnyJson = Annotated[JsonValue, Field(description="Any JSON; masked, its shape")]
Document = Annotated[dict[str, JsonValue], Field(description="A document with camelCase members")]


class Body(BaseModel):
    """What a request holds: members that are not known are refused, and nothing is turned into another type."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True)


class Answer(BaseModel):
    """What a response holds."""

    model_config = ANSWER


def shape(name: str, source: type, *, without: Collection[str] = (), **more: tuple[Any, Any]) -> type[BaseModel]:
    """The answer that `document` makes of such a value."""
    hints = get_type_hints(source)
    members: dict[str, Any] = {
        field.name: (_written(hints[field.name]), ...) for field in fields(source) if field.name not in without
    }
    words = (source.__doc__ or "").strip().split("\n\n")[0]
    return create_model(name, __config__=ANSWER, __doc__=" ".join(words.split()), **(members | more))


def _written(hint: Any) -> Any:  # noqa: ANN401 - a type, of whatever kind
    """A type as it comes out in JSON."""
    if hint == Decimal | None:
        return str | None
    return hint


_SUMMARY: dict[str, Any] = {"title": (str, ...), "provider": (str | None, ...), "amount": (str | None, ...)}
_SUMMARY["currency"] = (str | None, ...)
assert set(_SUMMARY) == {field.name for field in fields(Summary)}

Item = shape("QueueItem", QueueItem, without=("summary", "now"), age_seconds=(float, ...), **_SUMMARY)
Transition = shape("Transition", ReceiptTransition)
Note = shape("Note", Written)
Line = shape("AuditLine", AuditLine, detail=(AnyJson, ...))
Follows = shape("Consequences", Consequences)
_SETTLEMENT = {
    name: hint
    for name, hint in get_type_hints(Settlement).items()
    if name
    in ("thread_id", "effect_key", "resolution", "reference", "reason", "reason_code", "evidence", "decision_id")
}
ProposalShape = shape(
    "Proposal",
    Proposal,
    without=("settlement", "summary"),
    expected_version=(int, ...),
    value=(AnyJson, ...),
    **{name: (hint, ...) for name, hint in _SETTLEMENT.items()},
    **_SUMMARY,
)


class Admission(Answer):
    """Whether a decision may be made now; `notAfter` and `notBefore`: until and from when."""

    admitted: bool
    reason: str | None
    not_after: datetime | None = None
    not_before: datetime | None = None


class SecondPerson(Answer):
    """The rules that ask for a second person, of each resolution."""

    applied: list[str]
    not_applied: list[str]


class MayDecide(Answer):
    """What a person may decide now."""

    applied: Admission
    not_applied: Admission
    not_applied_with_workers_stopped: Admission
    second_person: SecondPerson


class WillHappen(Answer):
    """What follows from each decision."""

    applied: Follows  # type: ignore[valid-type]
    not_applied: Follows  # type: ignore[valid-type]


ReceiptShape = shape(
    "Receipt",
    Receipt,
    without=("summary",),
    payload=(AnyJson, ...),
    value=(AnyJson, ...),
    attempts=(shape("AttemptFacts", AttemptFacts), ...),
    workers_stopped_at=(datetime | None, ...),
    items=(list[shape("ItemHistory", ItemHistory)], ...),  # type: ignore[misc]
    observations=(list[shape("Observation", Seen, value=(AnyJson, ...))], ...),  # type: ignore[misc]
    decisions=(list[shape("Decision", Decided)], ...),  # type: ignore[misc]
    transitions=(list[Transition], ...),  # type: ignore[valid-type]
    blocked_turns=(list[str], ...),
    work=(shape("Work", Work), ...),
    notes=(list[Note], ...),  # type: ignore[valid-type]
    audit=(list[Line], ...),  # type: ignore[valid-type]
    may_decide=(MayDecide, ...),
    will_happen=(WillHappen, ...),
    key_window=(Literal["open", "closing", "closed", "none"], ...),
    key_closes_at=(datetime | None, ...),
    proposal=(ProposalShape | None, ...),
    **_SUMMARY,
)


class _Page(Answer):
    cursor: Annotated[str | None, Field(description="Where the next page begins; null: there is none")]


class ItemPage(_Page):
    """Items in the order of the queue."""

    items: list[Item]  # type: ignore[valid-type]


class LinePage(_Page):
    """Audit lines, the newest first."""

    items: list[Line]  # type: ignore[valid-type]


class DocumentPage(_Page):
    """Documents in the order of the list."""

    items: list[Document]


class EventPageShape(Answer):
    """Events in the order of their sequence; `more`: there are some after `after` already."""

    items: list[Document]
    after: int
    more: bool


class ProposalList(Answer):
    """Proposals that wait, the next to expire first; `complete` False: there are more."""

    items: list[ProposalShape]  # type: ignore[valid-type]
    complete: bool


class WorkDone(Answer):
    """Done, now or by an earlier request with this key. `until`: when the claim or the snooze ends."""

    work_version: int
    until: datetime | None


class NoteKept(Answer):
    """Kept, now or by an earlier request with this key."""

    note_id: str


class DecisionMade(Answer):
    """What became of a decision: it is made (`resolved`), waits for a second person (`proposed`), or, of a dry run, would be."""

    outcome: Literal["resolved", "proposed", "would_resolve", "would_propose"]
    settlement: int | None = None
    version: int | None = None
    proposal: ProposalShape | None = None  # type: ignore[valid-type]
    consequences: Follows | None = None  # type: ignore[valid-type]
    rules: list[str] | None = None
    decision_hash: str | None = None


class ContestMade(Answer):
    """The receipt is contradicted; another person decides on this version."""

    version: int


class Settled(Answer):
    """What was proposed is decided."""

    settlement: int
    version: int


UserShape = shape("User", User, without=("scope",), tenants=(list[str] | None, ...), effects=(list[str] | None, ...))
TokenShape = shape("Token", Token)
IssuedToken = shape("IssuedToken", Token, secret=(str | None, ...))
RoleShape = shape("Role", Role)
RuleShape = shape("Rule", ApprovalRule)


class Users(Answer):
    """All of them, by name."""

    items: list[UserShape]  # type: ignore[valid-type]


class Tokens(Answer):
    """The newest first, revoked ones too; never their secrets."""

    items: list[TokenShape]  # type: ignore[valid-type]


class Roles(Answer):
    """All of them, by name."""

    items: list[RoleShape]  # type: ignore[valid-type]


class Rules(Answer):
    """All of them, by id, disabled ones too. `unsatisfiable`: those that nobody could satisfy now."""

    items: list[RuleShape]  # type: ignore[valid-type]
    unsatisfiable: list[str]


class MeShape(Answer):
    """Who asks, and what they may."""

    user: str
    permissions: list[str]
    tenants: list[str] | None
    effects: list[str] | None
    token_id: str | None
    read_only: bool


class ProblemShape(BaseModel):
    """RFC 9457. `code` is one of a closed table (docs/api.md); `retryable`: the same request may succeed later. Members that
    belong to the code follow: `version`, `owner`, `until`, `permission`, `errors`, `position`, …"""

    model_config = ConfigDict(title="Problem", extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: Literal[CODES]  # type: ignore[valid-type]
    hint: str
    retryable: bool
