"""Documents with shapes in place of what applications, users, models and providers said (design 7).

What a document is made of by the kernel stays: ids, states, times, counts, an effect's own words (title, provider, amount,
currency), references, and what people wrote into the queue. A member that this module does not know is shown as its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.reconciliation.masking import masked, masked_text
from intention_kernel.reconciliation.trace_events import Members, listed, members

Mask = Callable[[JsonValue], JsonValue]

_RECEIPT = [
    "receiptId",
    "threadId",
    "turnId",
    "effectKey",
    "effectId",
    "effect",
    "agentId",
    "tenantId",
    "state",
    "attempt",
    "version",
    "settlements",
    "contradicted",
    "title",
    "provider",
    "amount",
    "currency",
    "reference",
    "preparedAt",
    "callDeadline",
    "returnedAt",
    "firstPreparedAt",
    "cause",
]
_SHOWN = (
    *_RECEIPT,
    *[
        "attempts",
        "workersStoppedAt",
        "transitions",
        "blockedTurns",
        "work",
        "notes",
        "audit",
        "mayDecide",
        "willHappen",
        "keyWindow",
        "keyClosesAt",
    ],
)
_THREAD = [
    "threadId",
    "state",
    "agentId",
    "tenantId",
    "revision",
    "nextSequence",
    "fence",
    "fingerprint",
    "schemaRevision",
    "turnInProgress",
    "lastTurns",
    "nextBefore",
    "blocked",
]
_TURN = [
    "threadId",
    "turnId",
    "agentId",
    "tenantId",
    "state",
    "revision",
    "status",
    "attempts",
    "digest",
    "requestedAt",
    "committedAt",
]
_ASIDE = ["id", "kind", "threadId", "turnId", "tenantId", "state", "reason", "attempts", "at", "origin", "digest"]
_EVENT = [
    "id",
    "type",
    "version",
    "occurredAt",
    "threadId",
    "turnId",
    "stepId",
    "sequence",
    "attempt",
    "correlationId",
    "causationId",
    "category",
]
_ITEM = (
    *_RECEIPT,
    *[
        "kind",
        "phase",
        "settlement",
        "openedAt",
        "closedAt",
        "looks",
        "issue",
        "nextLookAt",
        "waitsFor",
        "urgent",
        "blocks",
        "keyClosesAt",
    ],
    *["claimedBy", "claimedUntil", "snoozedUntil", "snoozedUntilChange", "ageSeconds"],
)
_OBSERVATION = ["settlement", "receiptVersion", "source", "finding", "reference", "startedAt", "at"]
_DECISION = ["decisionId", "settlement", "resolution", "reference", "reasonCode", "evidence", "actor", "at"]
_PROPOSAL = (
    *_RECEIPT,
    *["proposalId", "state", "rules", "proposer", "proposedAt", "expiresAt", "closedBy", "closedAt", "closingReason"],
    *[
        "expectedVersion",
        "resolution",
        "reason",
        "reasonCode",
        "evidence",
        "decisionId",
        "decisionHash",
        "workersStopped",
    ],
)
_TRACE = ["isProgram", "attempt", "resumes", "status", "startedAt", "durationMs"]
_NODE = [
    "kind",
    "name",
    "status",
    "at",
    "offsetMs",
    "durationMs",
    "eventId",
    "sequence",
    "causedBy",
    "stepId",
    "trigger",
    "receiptId",
    "effectKey",
    "provider",
    "model",
    "usage",
]
_ROW = ["state", "capabilityId", "stepId"]
_HAPPENED = ["status", "startedAt", "durationMs", "issueCode"]
_EFFECT = ["receiptId", "effectKey", "status"]
_PLAN = ["disposition", "trigger", "asksConfirmation", "reasonCode"]

_QUOTING = (
    "the look failed: ",
    "the lookup failed: ",
    "the lookup proves nothing: ",
    "the provider has it, but ",
    "the provider refused the same call: ",
    "the repeated call failed: ",
    "the stored receipt cannot be read: ",
)
"""The kernel's words in front of somebody else's."""


def masked_shown(document: Members, *, words: bool = False) -> Members:
    """Of `document.shown_document`. `words`: what resolvers, errors and the kernel said in words stays as it is, for those who
    work on receipts and have to know why; values never do."""
    detail, reason = (_words, _words) if words else (masked, _reason)
    return _kept(
        document,
        _SHOWN,
        items=_each(lambda item: masked_item(item, words=words)),
        observations=_each(lambda seen: _kept(seen, _OBSERVATION, detail=detail)),
        decisions=_each(lambda decision: _kept(decision, _DECISION, reason=reason)),
        proposal=_part(_PROPOSAL),
    )


def masked_proposal(document: Members) -> Members:
    """Of `document.proposal_document`: what its proposer says was applied has a value."""
    return _kept(document, _PROPOSAL)


def masked_item(document: Members, *, words: bool = False) -> Members:
    """Of `document.item_document`: only where its reason quotes a provider is there anything to mask; with `words`, nothing."""
    return _kept(document, _ITEM, reason=_words if words else _reason)


def masked_thread(document: Members) -> Members:
    """Of `Conversations.thread`."""
    return _kept(document, _THREAD, openReceipts=_each(_receipt), setAside=_each(masked_given_up))


def masked_turn(document: Members) -> Members:
    """Of `Conversations.turn`."""
    return _kept(document, _TURN, receipts=_each(_receipt), setAside=_each(masked_given_up), events=_each(masked_event))


def masked_event(document: Members) -> Members:
    """Of one of `Conversations.events`."""
    return _kept(document, _EVENT)


def masked_given_up(document: Members) -> Members:
    """Of `Conversations.given_up` and `given_up_record`."""
    return _kept(document, _ASIDE, record=lambda record: _kept(members(record), ("timestamp",)))


def masked_trace(document: Members) -> Members:
    """Of `trace.trace_document`."""
    return _kept(document, _TRACE, tree=_each(_node), comparison=_each(_row))


def _receipt(receipt: Members) -> Members:
    return _kept(receipt, _RECEIPT)


def _effect(effect: Members) -> Members:
    return _kept(effect, _EFFECT, receipt=_part(_RECEIPT))


def _node(node: Members) -> Members:
    return _kept(node, _NODE, children=_each(_node))


def _row(row: Members) -> Members:
    return _kept(
        row,
        _ROW,
        proposal=_part(("resolution",)),
        plan=_part(_PLAN, changes=_each(_change)),
        happened=_part(_HAPPENED, effects=_each(_effect)),
    )


def _change(change: Members) -> Members:
    return _kept(change, ("path", "asked"))


def _kept(document: Members, names: Collection[str], **masks: Mask) -> Members:
    """The named members as they are, those with a mask of their own by that, the shapes of all others."""
    return {name: masks.get(name, _same if name in names else masked)(value) for name, value in document.items()}


def _same(value: JsonValue) -> JsonValue:
    return value


def _each(mask: Callable[[Members], Members]) -> Mask:
    return lambda values: [mask(members(value)) for value in listed(values)]


def _part(names: Collection[str], **masks: Mask) -> Mask:
    return lambda value: None if value is None else _kept(members(value), names, **masks)


def _words(value: JsonValue) -> JsonValue:
    return value if isinstance(value, str) else masked(value)


def _reason(value: JsonValue) -> JsonValue:
    """Words of the kernel and of people stay; behind those that quote, the shape of what is quoted."""
    if not isinstance(value, str):
        return masked(value)
    ends = [value.index(lead) + len(lead) for lead in _QUOTING if lead in value]
    return value if not ends else value[: min(ends)] + masked_text(value[min(ends) :])
